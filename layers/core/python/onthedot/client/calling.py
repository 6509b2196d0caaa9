"""What both clients do around a call: its bytes and headers, and the decision after each try. It is pure."""

import json
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from onthedot.client.errors import ClientError, NotFound, Unavailable, error_of
from onthedot.client.requests import Operation, Retries
from onthedot.client.transport import NoAnswer, Reply

if TYPE_CHECKING:
    from onthedot.core.retry import Backoff

Answer = TypeVar("Answer")
TRIES: Final = Retries().tries
_NOT_DONE: Final = frozenset({425, 429})
"""Statuses of requests that had no effect, so that every call may be repeated."""
_MAY_PASS: Final = frozenset({408, 502, 503, 504, *_NOT_DONE})
FROZEN: Final = "frozen"
"""The code of a refusal that lasts for minutes or for good: the stage moves, and accepts no change."""


def headers_for(token: str | None) -> dict[str, str]:
    """Return the headers of every call. Without a token, for a transport that authenticates by itself, it has none."""
    from onthedot import __version__  # noqa: PLC0415 - the package imports this module while it is loaded

    headers = {"Content-Type": "application/json", "User-Agent": f"onthedot-python/{__version__}"}
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def body_of(operation: Operation[Any]) -> bytes | None:
    """Raise ValueError or TypeError when a value has no JSON."""
    if operation.body is None or isinstance(operation.body, bytes):
        return operation.body
    return json.dumps(operation.body, ensure_ascii=False, allow_nan=False).encode()


class Trying(Generic[Answer]):
    answer: Answer
    """The answer, after `judge` has returned None."""

    def __init__(self, operation: Operation[Answer], tries: int = TRIES) -> None:
        self._operation = operation
        self._retries = operation.retries or Retries(tries)
        self._number = 0
        self._backoff: Backoff | None = None

    def judge(self, outcome: Reply | NoAnswer) -> float | None:
        """Return the seconds until the next try, or None when there is an answer. Raise what the caller gets."""
        self._number += 1
        operation = self._operation
        if isinstance(outcome, NoAnswer):
            return self._pause_or_raise(Unavailable(str(outcome)), may_pass=not outcome.may_have_arrived)
        if outcome.status < 300 or outcome.status in operation.also_answers:
            self.answer = self._read(outcome)
            return None
        error = error_of(outcome.status, _document(outcome), *_facts(outcome))
        if isinstance(error, NotFound) and operation.gone_is_done and self._number > 1:
            self.answer = operation.read(None)
            return None
        return self._pause_or_raise(error, may_pass=outcome.status in _NOT_DONE)

    def _pause_or_raise(self, error: ClientError, *, may_pass: bool) -> float:
        """Return the pause after a failure. `may_pass`: the call had no effect, so that each may be repeated."""
        retries, asked = self._retries, error.retry_after or 0.0
        may_repeat = may_pass or (self._operation.repeatable and self._passes(error))
        if not may_repeat or error.code == FROZEN or self._number >= retries.tries or asked > retries.longest:
            raise error
        return max(self._pause(), asked)

    def _passes(self, error: ClientError) -> bool:
        """Return whether trying again may help. An answer with status 500 says that it does not."""
        if error.status is None or error.status in _MAY_PASS:
            return True
        return self._retries.failures and error.status >= 500

    def _pause(self) -> float:
        from onthedot.core.retry import Backoff  # noqa: PLC0415 - few calls are repeated, and it loads `random`

        if self._backoff is None:
            self._backoff = Backoff(self._retries.first, self._retries.most)
        return self._backoff.next()

    def _read(self, reply: Reply) -> Answer:
        try:
            return self._operation.read(json.loads(reply.body))
        except (ValueError, KeyError, TypeError) as error:
            why = "the API's answer cannot be read; check the URL, and whether this client knows the API's version"
            raise Unavailable(f"{why} ({error})", status=reply.status, request_id=_facts(reply)[0]) from error


def _document(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError:
        return None


def _facts(reply: Reply) -> tuple[str | None, float | None]:
    after = reply.headers.get("retry-after", "")
    return reply.headers.get("x-request-id"), float(after) if after.isdecimal() else None
