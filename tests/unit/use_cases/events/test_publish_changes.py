"""Changes that are published: one that makes no event holds up no other."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.events.lifecycle import LifecycleEvent
from onthedot.events.ports import RecordChange
from onthedot.events.publish import PublishOptions, publish_changes
from tests.builders import VirtualClock, a_run


@dataclass
class Bus:
    """A bus that takes everything."""

    heard: list[LifecycleEvent] = field(default_factory=list)

    def publish(self, events: Sequence[LifecycleEvent], deadline: Deadline) -> Sequence[None]:
        self.heard += events
        return [None] * len(events)


def test_a_record_of_which_no_event_can_be_made_holds_up_no_other() -> None:
    clock = VirtualClock()
    old = a_run(clock).dispatched().build()
    good = replace(old, status=Status.FAILED, revision=2)
    bad = replace(good, finished_at="yesterday")  # type: ignore[arg-type]
    changes = [RecordChange("1", old, bad, clock.now()), RecordChange("2", old, good, clock.now())]
    bus = Bus()
    result = publish_changes(bus, changes, PublishOptions(), Deadline.after(clock.now(), 1_000))
    assert (result.published, result.refused, result.again_from) == (1, 1, None)
    assert len(bus.heard) == 1
