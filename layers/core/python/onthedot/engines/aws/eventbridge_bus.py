"""Publishing to a bus of EventBridge. Each entry of a reply is checked: a 200 may contain ten refusals."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from onthedot.domain import compact_json
from onthedot.domain.reports.lifecycle_events import SOURCE, LifecycleEvent
from onthedot.engines.aws.errors import TRANSIENT, translated
from onthedot.engines.aws.leftovers import retry_leftovers
from onthedot.ports import Clock, Deadline, Undecided, Unpublishable

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
            with translated("publish"):
                reply = self._client.put_events(Entries=[entries[n] for n in pending])
            replies: Sequence[Any] = reply["Entries"]
            for number, answer in zip(pending, replies, strict=True):
                answers[number] = _verdict(answer)
            return [number for number in pending if isinstance(answers[number], Undecided)]

        for batch in self._calls(entries, answers):
            retry_leftovers(batch, attempt, self._clock, deadline)
        return answers

    def _calls(self, entries: Sequence[Any], answers: list[EventAnswer]) -> list[list[int]]:
        """Return the numbers of the entries, grouped by call. Refuse each entry that is too large for any call."""
        calls: list[list[int]] = []
        room = 0
        for number, entry in enumerate(entries):
            size = entry_bytes(entry)
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
            "Detail": compact_json.to_text(event.detail),
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
