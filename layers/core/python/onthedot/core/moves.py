"""Moves: the only way in which a stored record changes.

A move is a compare-and-set. It names the state that it expects and the fields that it writes. The transition table
below is the only place that knows which status may follow which.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from onthedot.core.records import FIELDS, INTEGERS, SETS, Record, Status, copy_with


def _to(*statuses: Status) -> frozenset[Status]:
    return frozenset(statuses)


_S = Status
_STOPS: Final = _to(_S.PAUSED, _S.CANCELLED, _S.DELETED)
TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = MappingProxyType(
    {
        # WAITING -> WAITING: a parent ended, or a client changed the job. -> FAILED, SKIPPED: a parent did not succeed.
        _S.WAITING: _to(
            _S.WAITING, _S.PENDING, _S.DISPATCHED, _S.ACTIVE, _S.FAILED, _S.SKIPPED, _S.CANCELLED, _S.DELETED
        ),
        # PENDING -> PENDING and DISPATCHED -> PENDING move a changed run to its new time.
        _S.PENDING: _to(_S.PENDING, _S.DISPATCHED, _S.SKIPPED) | _STOPS,
        # DISPATCHED -> DISPATCHED: the message is sent again. -> FAILED: the message could never be delivered.
        _S.DISPATCHED: _to(_S.PENDING, _S.DISPATCHED, _S.RUNNING, _S.FAILED, _S.SKIPPED) | _STOPS,
        # RUNNING -> RUNNING: a lease is extended, or the run gets a later watch slot. -> PENDING, DISPATCHED: a retry.
        _S.RUNNING: _to(_S.RUNNING, _S.PENDING, _S.DISPATCHED, _S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.DELETED),
        _S.PAUSED: _to(_S.PAUSED, _S.PENDING, _S.DISPATCHED, _S.ACTIVE, _S.CANCELLED, _S.DELETED),
        # ACTIVE -> ACTIVE: a recurring job advances to its next fire time, or a client changed it.
        _S.ACTIVE: _to(_S.ACTIVE, _S.COMPLETED) | _STOPS,
        # SKIPPED -> PENDING, DISPATCHED: the schedule contains the time again. -> SKIPPED: a skipped range is cut.
        _S.SKIPPED: _to(_S.SKIPPED, _S.PENDING, _S.DISPATCHED, _S.DELETED),
        # COMPLETED -> COMPLETED: the last run of the job starts, and the job records it.
        _S.COMPLETED: _to(_S.COMPLETED, _S.ACTIVE) | _STOPS,
        # An ended run keeps its status when all its children have been notified.
        _S.SUCCEEDED: _to(_S.SUCCEEDED, _S.DELETED),
        # FAILED -> PENDING, DISPATCHED: a client redrives a dead letter.
        _S.FAILED: _to(_S.FAILED, _S.PENDING, _S.DISPATCHED, _S.DELETED),
        _S.CANCELLED: _to(_S.CANCELLED, _S.DELETED),
        _S.DELETED: _to(_S.DELETED),
    }
)


COUNTERS: Final = frozenset(
    {"attempt", "dependents", "failures", "losses", "resends", "stamped", "version", "schedule_version"}
)
_KNOWN: Final = frozenset(FIELDS)
_WRITTEN_OTHERWISE: Final = {
    "run_id": "a move cannot change 'run_id'",
    "status": "a move's status is its `to`",
    "revision": "every move counts the revision, and none sets it",
}
_CHANGEABLE: Final = _KNOWN - _WRITTEN_OTHERWISE.keys()


class IllegalMove(ValueError):
    """A move that the transition table does not allow, or that names a field which it may not write."""


@dataclass(frozen=True, slots=True)
class Expect:
    """The condition of a move: one of the statuses, and every equality and upper bound."""

    status: frozenset[Status]
    equals: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Record` and their values. None: the field has no value."""
    at_most: Mapping[str, int] = field(default_factory=dict)
    """Integer fields of `Record` and their upper bounds. A field without a value does not meet its bound."""

    def is_met_by(self, record: Record) -> bool:
        bounds = ((getattr(record, name), bound) for name, bound in self.at_most.items())
        return (
            record.status in self.status
            and all(getattr(record, name) == value for name, value in self.equals.items())
            and all(value is not None and value <= bound for value, bound in bounds)
        )


@dataclass(frozen=True, slots=True)
class Move:
    """A compare-and-set on one record.

    Raise IllegalMove when the transition table does not allow it, or when a field is unknown or of the wrong kind: a
    store would write an unknown field without an error, and no reader would ever see it.
    """

    run_id: str
    expect: Expect
    to: Status
    """The status after the move. Nothing else writes a status."""
    changes: Mapping[str, Any]
    """Fields of `Record` and their new values. None removes the value."""
    increments: Mapping[str, int] = field(default_factory=dict)
    """Counters and the numbers to add, for a caller that does not know the present value."""
    adds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Set fields and the members to add. A member that is in the set already changes nothing."""
    removes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Set fields and the members to remove. A member that is not in the set changes nothing."""

    def __post_init__(self) -> None:
        for before in self.expect.status:
            if self.to not in TRANSITIONS[before]:
                raise IllegalMove(f"{before} -> {self.to} is not a legal move")
        expect = self.expect
        if not (
            _CHANGEABLE.issuperset(self.changes)
            and _KNOWN.issuperset(expect.equals)
            and INTEGERS.issuperset(expect.at_most)
            and COUNTERS.issuperset(self.increments)
            and SETS.issuperset(self.adds)
            and SETS.issuperset(self.removes)
        ):
            raise IllegalMove(next(_faults(self)))

    @property
    def counts(self) -> Mapping[str, int]:
        return {**self.increments, "revision": 1}


def _faults(move: Move) -> Iterator[str]:
    yield from (_WRITTEN_OTHERWISE[name] for name in _WRITTEN_OTHERWISE.keys() & move.changes.keys())
    for kind, known, named in (
        ("field", _KNOWN, [*move.changes, *move.expect.equals]),
        ("integer field", INTEGERS, move.expect.at_most),
        ("counter", COUNTERS, move.increments),
        ("set field", SETS, [*move.adds, *move.removes]),
    ):
        yield from (f"Record has no {kind} {name!r}" for name in named if name not in known)


def applied(record: Record, move: Move) -> Record:
    values = dict(move.changes)
    for name in SETS.intersection(values):
        values[name] = values[name] or frozenset()
    values |= {name: (getattr(record, name) or 0) + number for name, number in move.counts.items()}
    values |= {name: getattr(record, name) | members for name, members in move.adds.items()}
    values |= {name: getattr(record, name) - members for name, members in move.removes.items()}
    values["status"] = move.to
    return copy_with(record, values)
