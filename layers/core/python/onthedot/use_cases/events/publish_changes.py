"""Tell the bus what became of jobs and runs: at least once, and in each record's own order as far as it can be told."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.reports.lifecycle_events import event_of
from onthedot.ports import Deadline, EventBus, RecordChange, Undecided, Unpublishable

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """What a stage tells: ends only or each change of a state, and with or without payloads and results."""

    every_change: bool = False
    with_results: bool = False


@dataclass(frozen=True, slots=True)
class PublishResult:
    """How many events the bus took and how many it never will, and from where on the rest is to be told again."""

    published: int
    refused: int
    again_from: str | None


def publish_changes(
    bus: EventBus, changes: Sequence[RecordChange], telling: PublishOptions, deadline: Deadline
) -> PublishResult:
    """Whatever follows the first change that could not be told is told again with it: readers know it by its version.

    What the bus will never take is logged, and holds up nothing.
    """
    made = [
        (change, event)
        for change in changes
        if (
            event := event_of(
                change.old,
                change.new,
                change.at,
                every_change=telling.every_change,
                with_results=telling.with_results,
            )
        )
    ]
    answers = bus.publish([event for _, event in made], deadline)
    untold: list[str] = []
    refused = 0
    for (change, event), answer in zip(made, answers, strict=True):
        about = {"detail_type": event.detail_type, "run": event.detail["execution_id"] or event.detail["job_id"]}
        if isinstance(answer, Undecided):
            untold.append(change.position)
            _LOG.warning("not_published", extra={**about, "why": answer.why})
        elif isinstance(answer, Unpublishable):
            refused += 1
            _LOG.error("unpublishable", extra={**about, "why": answer.why})
    return PublishResult(len(made) - len(untold) - refused, refused, untold[0] if untold else None)
