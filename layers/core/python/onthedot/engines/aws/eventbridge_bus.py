"""Publishing to a bus of EventBridge. Each entry of a reply is checked: a 200 may contain ten refusals."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from onthedot.core import json_text
from onthedot.core.ports import Clock, Deadline, Undecided
from onthedot.engines.aws.errors import TRANSIENT, ErrorReply, translated
from onthedot.engines.aws.leftovers import retry_leftovers
from onthedot.events.lifecycle import SOURCE, LifecycleEvent
from onthedot.events.ports import Unpublishable

ENTRIES_PER_CALL: Final = 10
BYTES_PER_CALL: Final = 256 * 1024
"""The limit for all entries of a call together, and so for one entry."""
# This code of an entry is not in the common set.
_RETRYABLE: Final = TRANSIENT | {"InternalException"}

EventAnswer = Undecided | Unpublishable | None


class EventsClient(Protocol):
    """The one method of boto3's client that the bus needs."""

    def put_events(self, *, Entries: Sequence[Any]) -> Any: ...  # noqa: N803 - boto3's name


class EventBridgeBus:
    """An `EventBus` that sends as few requests as EventBridge allows."""

    def __init__(self, client: EventsClient, bus: str, clock: Clock) -> None:
        self._client = client
        self._bus = bus
        self._clock = clock

    def publish(self, events: Sequence[LifecycleEvent], deadline: Deadline) -> Sequence[EventAnswer]:
        answers: list[EventAnswer] = [Undecided("no answer before the deadline")] * len(events)
        entries = [self._entry(event) for event in events]

        def attempt(pending: Sequence[int]) -> Sequence[int]:
            try:
                with translated("publish"):
                    reply = self._client.put_events(Entries=[entries[n] for n in pending])
            except ErrorReply as error:
                return refused(pending, error)
            replies: Sequence[Any] = reply["Entries"]
            for number, answer in zip(pending, replies, strict=True):
                answers[number] = _verdict(answer)
            return [number for number in pending if isinstance(answers[number], Undecided)]

        def refused(pending: Sequence[int], error: ErrorReply) -> Sequence[int]:
            """Publish each entry of a refused call separately, so that one bad entry does not keep back the others."""
            if len(pending) == 1:
                answers[pending[0]] = Unpublishable(error.code)
                return []
            return [left for number in pending for left in attempt([number])]

        for batch in self._calls(entries, answers):
            retry_leftovers(batch, attempt, self._clock, deadline)
        return answers

    def _calls(self, entries: Sequence[Any], answers: list[EventAnswer]) -> list[list[int]]:
        """Return the numbers of the entries, grouped by call. Refuse each entry that is too large for any call."""
        calls: list[list[int]] = []
        room = 0
        for number, entry in enumerate(entries):
            try:
                size = entry_bytes(entry)
            except ValueError as error:  # half a surrogate pair, which UTF-8 cannot encode
                answers[number] = Unpublishable(str(error))
                continue
            if size > BYTES_PER_CALL:
                answers[number] = Unpublishable(f"{size} bytes; an event has at most {BYTES_PER_CALL}")
                continue
            if not calls or size > room or len(calls[-1]) == ENTRIES_PER_CALL:
                calls.append([])
                room = BYTES_PER_CALL
            calls[-1].append(number)
            room -= size
        return calls

    def _entry(self, event: LifecycleEvent) -> Any:
        return {
            "EventBusName": self._bus,
            "Source": SOURCE,
            "DetailType": event.detail_type,
            "Detail": json_text.to_text(event.detail),
        }


def entry_bytes(entry: Any) -> int:
    """Return the size of an entry as EventBridge counts it."""
    return sum(len(entry[field].encode()) for field in ("Source", "DetailType", "Detail"))


def _verdict(answer: Any) -> EventAnswer:
    code = answer.get("ErrorCode")
    if not code:
        return None
    why = f"{code}: {answer.get('ErrorMessage', '')}"
    return Undecided(why) if code in _RETRYABLE else Unpublishable(why)
