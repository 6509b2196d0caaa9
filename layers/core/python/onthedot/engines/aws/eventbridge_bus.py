"""Events out, to a bus of EventBridge. Every entry's answer is looked at: a 200 may hold ten refusals."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from onthedot.domain import compact_json
from onthedot.domain.reports.lifecycle_events import SOURCE, LifecycleEvent
from onthedot.engines.aws.errors import TRANSIENT, translated
from onthedot.engines.aws.leftovers import retry_leftovers
from onthedot.ports import Clock, Deadline, Undecided, Unpublishable

ENTRIES_PER_CALL: Final = 10
BYTES_PER_CALL: Final = 256 * 1024
"""Of all entries together, and so of one."""
# Codes of entries that may pass by themselves, beside those that all of AWS has.
_MAY_PASS: Final = TRANSIENT | {"InternalException"}

Answer = Undecided | Unpublishable | None


class EventsClient(Protocol):
    """What we need of boto3's."""

    def put_events(self, *, Entries: Sequence[Any]) -> Any: ...  # noqa: N803 - boto3's name


class EventBridgeBus:
    """`EventBus`."""

    def __init__(self, client: EventsClient, bus: str, clock: Clock) -> None:
        self._client = client
        self._bus = bus
        self._clock = clock

    def publish(self, events: Sequence[LifecycleEvent], deadline: Deadline) -> Sequence[Answer]:
        answers: list[Answer] = [Undecided("no answer before the deadline")] * len(events)
        entries = [self._entry(event) for event in events]

        def attempt(pending: Sequence[int]) -> Sequence[int]:
            with translated("publish"):
                reply = self._client.put_events(Entries=[entries[n] for n in pending])
            said: Sequence[Any] = reply["Entries"]
            for number, answer in zip(pending, said, strict=True):
                answers[number] = _verdict(answer)
            return [number for number in pending if isinstance(answers[number], Undecided)]

        for batch in self._calls(entries, answers):
            retry_leftovers(batch, attempt, self._clock, deadline)
        return answers

    def _calls(self, entries: Sequence[Any], answers: list[Answer]) -> list[list[int]]:
        """Numbers of the entries, as many to a call as it takes; those too large for any are answered at once."""
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
    """As EventBridge counts them."""
    return sum(len(entry[field].encode()) for field in ("Source", "DetailType", "Detail"))


def _verdict(answer: Any) -> Answer:
    code = answer.get("ErrorCode")
    if not code:
        return None
    why = f"{code}: {answer.get('ErrorMessage', '')}"
    return Undecided(why) if code in _MAY_PASS else Unpublishable(why)
