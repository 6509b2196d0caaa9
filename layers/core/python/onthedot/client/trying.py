"""Decide after each try of a call: the answer, an error, or a pause and another try. It is pure."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from onthedot.client.errors import ClientError, NotFound, Unavailable, error_of
from onthedot.client.requests import Operation
from onthedot.client.transport import NoAnswer, Reply

if TYPE_CHECKING:
    from onthedot.domain.backoff import Backoff

Answer = TypeVar("Answer")
TRIES: Final = 4
_PAUSES: Final = (0.25, 4.0)
"""Seconds between tries: at first, and at most."""
LONGEST_PAUSE: Final = 30.0
"""A longer `Retry-After` is not waited for: the caller gets the error, with the time in it."""
_NOT_DONE: Final = frozenset({425, 429})
"""Statuses of requests that had no effect, so that every call may be repeated."""
FROZEN: Final = "frozen"
"""The code of a refusal that lasts for minutes or for good: the stage moves, and accepts no change."""
_MAY_PASS: Final = frozenset({408, 502, 503, 504, *_NOT_DONE})


@dataclass(frozen=True, slots=True)
class Wait:
    """The decision to try again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answered(Generic[Answer]):
    """The decision that the call is done, with its answer."""

    value: Answer


@dataclass(slots=True)
class Trying(Generic[Answer]):
    """The tries of one call."""

    operation: Operation[Answer]
    tries: int = TRIES
    number: int = 0
    _backoff: "Backoff | None" = None

    def judge(self, outcome: Reply | NoAnswer) -> Wait | Answered[Answer]:
        """Return the decision after a try. Raise the error that the caller gets."""
        self.number += 1
        if isinstance(outcome, NoAnswer):
            error: ClientError = Unavailable(str(outcome))
            may_repeat = self.operation.repeatable or not outcome.may_have_arrived
        elif outcome.status < 300 or outcome.status in self.operation.also_answers:
            return Answered(self._read(outcome))
        else:
            error = error_of(outcome.status, _document(outcome), *_facts(outcome))
            if isinstance(error, NotFound) and self.operation.gone_is_done and self.number > 1:
                return Answered(self.operation.read(None))
            passes = _MAY_PASS if self.operation.repeatable else _NOT_DONE
            may_repeat = outcome.status in passes and error.code != FROZEN
        return self._wait(error, may_repeat=may_repeat)

    def _wait(self, error: ClientError, *, may_repeat: bool) -> Wait:
        asked = error.retry_after or 0.0
        if not may_repeat or self.number >= self.tries or asked > LONGEST_PAUSE:
            raise error
        return Wait(max(self._pause(), asked))

    def _pause(self) -> float:
        from onthedot.domain.backoff import Backoff  # noqa: PLC0415 - few calls are repeated, and it loads `random`

        if self._backoff is None:
            self._backoff = Backoff(*_PAUSES)
        return self._backoff.next()

    def _read(self, reply: Reply) -> Answer:
        try:
            return self.operation.read(json.loads(reply.body))
        except (ValueError, KeyError, TypeError) as error:
            why = "the API's answer cannot be read; is the URL right, and the version of the API known to this client?"
            raise Unavailable(f"{why} ({error})", status=reply.status, request_id=_facts(reply)[0]) from error


def _document(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError:
        return None


def _facts(reply: Reply) -> tuple[str | None, float | None]:
    """Return the request id and the seconds of `Retry-After`."""
    after = reply.headers.get("retry-after", "")
    return reply.headers.get("x-request-id"), float(after) if after.isdecimal() else None
