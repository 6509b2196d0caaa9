"""Send messages to many queues, so that a queue that fails keeps back only its own messages."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Clock, Deadline, RunMessage
from onthedot.engines.aws.errors import ErrorReply, translated
from onthedot.engines.aws.leftovers import first_backoff, pause, tens

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_LOG: Final = logging.getLogger(__name__)
PATIENCE_MS: Final = 5_000
"""The longest time for which one call tries again. A tick has other queues and slots to care for."""


@dataclass(slots=True)
class _Sending:
    queue: str
    url: str
    waiting: list[RunMessage]
    """The messages that are not sent yet."""
    refused: list[RunMessage] = field(default_factory=list)
    """The messages that the queue does not take, now or later."""
    why: str | None = None
    """Why the queue as a whole takes no messages."""

    def refuse(self, message: RunMessage, why: str) -> None:
        _LOG.error("message_refused", extra={"queue": self.queue, "run": message.run_id, "error": why})
        self.refused.append(message)


@dataclass(slots=True)
class QueueSender:
    """The sending side of all queues of a process.

    It goes from queue to queue in rounds. In a round, a queue that does not answer costs one call. A queue that failed
    in an earlier call comes last and is tried once.
    """

    client: "SQSClient"
    clock: Clock
    entry: Callable[[str, RunMessage, int], Any]
    """Return the entry of a message for the instant of the call."""
    failing: set[str] = field(default_factory=set)
    """The queues that failed in their latest call. Each is logged once."""

    def send(
        self, urls: Mapping[str, str], messages: Mapping[str, Sequence[RunMessage]], deadline: Deadline
    ) -> list[RunMessage]:
        """Send the messages, given by the name of their queue. Return the messages that were not sent."""
        sendings = [_Sending(queue, urls.get(queue, ""), list(waiting)) for queue, waiting in messages.items()]
        self._send_in_rounds(sorted(sendings, key=lambda one: one.queue in self.failing), deadline)
        for one in sendings:
            self._note(one)
        return [message for one in sendings for message in (*one.refused, *one.waiting)]

    def _send_in_rounds(self, sendings: Sequence[_Sending], deadline: Deadline) -> None:
        backoff = first_backoff()
        until = deadline.at_most(self.clock.now() + PATIENCE_MS)
        while True:
            for one in sendings:
                self._try_once(one)
            sendings = [one for one in sendings if one.waiting and one.queue not in self.failing]
            if not sendings or not pause(backoff, self.clock, until):
                return

    def _try_once(self, one: _Sending) -> None:
        """Send the waiting messages of a queue. Stop at the first call that is not answered."""
        waiting, one.waiting, one.why = one.waiting, [], None
        for batch in tens(waiting):
            if one.why is not None:
                one.waiting += batch
                continue
            try:
                one.waiting += self._send_batch(one, batch)
            except Unavailable as error:
                one.why = str(error)
                one.waiting += batch
                if isinstance(error, Unreachable):
                    self._note(one)

    def _send_batch(self, one: _Sending, batch: Sequence[RunMessage]) -> list[RunMessage]:
        """Send at most ten messages. Return the messages that SQS did not take and may take later."""
        if not one.url:
            raise Unreachable(f"this stage has no queue {one.queue}")
        now = self.clock.now()
        entries = [self.entry(str(number), message, now) for number, message in enumerate(batch)]
        try:
            with translated(f"queue {one.queue}"):
                reply = self.client.send_message_batch(QueueUrl=one.url, Entries=entries)
        except ErrorReply as error:
            return self._send_alone(one, batch, error.code)
        return _left(one, batch, reply)

    def _send_alone(self, one: _Sending, batch: Sequence[RunMessage], why: str) -> list[RunMessage]:
        """Send each message of a refused batch separately, so that one bad message does not keep back nine others."""
        if len(batch) == 1:
            one.refuse(batch[0], why)
            return []
        left: list[RunMessage] = []
        for message in batch:
            try:
                left += self._send_batch(one, [message])
            except Unavailable:
                left.append(message)
        return left

    def _note(self, one: _Sending) -> None:
        """Remember whether the queue fails. Log it when it begins to fail."""
        if not one.waiting:
            self.failing.discard(one.queue)
            return
        if one.queue not in self.failing:
            why = one.why or "it did not take all messages"
            _LOG.error("queue_fails", extra={"queue": one.queue, "unsent": len(one.waiting), "error": why})
        self.failing.add(one.queue)


def _left(one: _Sending, batch: Sequence[RunMessage], reply: Any) -> list[RunMessage]:
    left: list[RunMessage] = []
    failed = {int(entry["Id"]): entry for entry in reply.get("Failed", [])}
    sent = {int(entry["Id"]) for entry in reply.get("Successful", [])}
    for number, message in enumerate(batch):
        answer = failed.get(number, {})
        if answer.get("SenderFault"):
            one.refuse(message, str(answer.get("Code")))
        elif number not in sent:
            left.append(message)
    return left
