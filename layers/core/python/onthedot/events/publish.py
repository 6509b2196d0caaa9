"""Publish changes of jobs and runs to the event bus: each at least once, and those of one record in their order."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.ports import Deadline, Undecided
from onthedot.events.lifecycle import LifecycleEvent, event_of
from onthedot.events.ports import EventBus, RecordChange, Unpublishable

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PublishOptions:
    every_change: bool = False
    """Whether each change of a status is published, or only ends."""
    with_results: bool = False
    """Whether events carry payloads and results."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    published: int
    refused: int
    """Number of events that the bus will never take."""
    again_from: str | None
    """The position of the first change that was not published. The batch is published again from there on."""


def publish_changes(
    bus: EventBus, changes: Sequence[RecordChange], options: PublishOptions, deadline: Deadline
) -> PublishResult:
    """Publish the events of these changes.

    The first change that was not published is published again, together with all changes that follow it. Subscribers
    recognise a repeated event by its version. An event that the bus will never take is logged, and does not delay the
    others.
    """
    made, refused = _events(changes, options)
    answers = bus.publish([event for _, event in made], deadline)
    unpublished: list[str] = []
    taken = 0
    for (change, event), answer in zip(made, answers, strict=True):
        about = {"detail_type": event.detail_type, "run": event.detail["execution_id"] or event.detail["job_id"]}
        taken += answer is None
        if isinstance(answer, Undecided):
            unpublished.append(change.position)
            _LOG.warning("not_published", extra={**about, "why": answer.why})
        elif isinstance(answer, Unpublishable):
            refused += 1
            _LOG.error("unpublishable", extra={**about, "why": answer.why})
    return PublishResult(taken, refused, unpublished[0] if unpublished else None)


def _events(
    changes: Sequence[RecordChange], options: PublishOptions
) -> tuple[list[tuple[RecordChange, LifecycleEvent]], int]:
    """Return the changes that make an event, each with its event, and the number of changes of which none can be made.

    A change of which no event can be made would otherwise stop all changes that follow it.
    """
    made: list[tuple[RecordChange, LifecycleEvent]] = []
    refused = 0
    for change in changes:
        try:
            event = event_of(
                change.old, change.new, change.at, every_change=options.every_change, with_results=options.with_results
            )
        except Exception as error:  # noqa: BLE001 (as the docstring says)
            refused += 1
            run = None if change.new is None else change.new.run_id
            _LOG.error("unpublishable", extra={"run": run, "why": repr(error)})
            continue
        if event is not None:
            made.append((change, event))
    return made, refused
