"""The lost-reply protocol: find out whether a conditional write happened, and which record is stored now.

An engine repeats a write whose reply did not arrive. When the first try was applied, the repeated one is refused: its
expectation no longer holds. The record that refused it then has a value that only this caller wrote: its claim token,
its attempt token, or a generation, all of which are random and new. Such a refusal is a success. A caller that took it
for a lost race would leave its own run unsent until the sweep finds it.

`Undecided` is neither: the write may have happened. It counts as not written, and the caller leaves the run in its
slot, where a later pass reads it again.
"""

from collections.abc import Callable

from onthedot.core.ports import Moved, Refused, Undecided
from onthedot.core.records import Record

Outcome = Moved | Refused | Undecided


def is_written(outcome: Outcome, shows_write: Callable[[Record], bool]) -> bool:
    """Return whether the write was applied. `shows_write` looks at the record that refused a repeated write."""
    if isinstance(outcome, Refused):
        return outcome.current is not None and shows_write(outcome.current)
    return isinstance(outcome, Moved)


def is_own(current: Record, written: Record) -> bool:
    return current.generation == written.generation


def is_record_written(written: Record, outcome: Outcome) -> bool:
    """Return whether this record was written: created, or moved so that it has a new generation."""
    return is_written(outcome, lambda current: is_own(current, written))


def current_record(outcome: Moved | Refused) -> Record | None:
    """Return the record that is stored after a single move, whether or not it was applied. None if there is none."""
    return outcome.run if isinstance(outcome, Moved) else outcome.current


def record_after_create(created: Record, outcome: Outcome) -> Record | None:
    """Return the record that has the id after a create: this one, or an older one. None: it is undecided, or gone."""
    if isinstance(outcome, Moved):
        return created
    return outcome.current if isinstance(outcome, Refused) else None
