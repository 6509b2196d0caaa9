"""Answers of the store of gates."""

from dataclasses import dataclass

from onthedot.gates.state import GateState


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The answer to a conditional write on a gate."""

    done: bool
    """Whether the write happened, now or by an earlier try whose reply was lost."""
    state: GateState
    """The state after the write, or the state that refused it. Of a page other than 0 it has the holders only."""


@dataclass(frozen=True, slots=True)
class KnownGate:
    """The state of a gate as this process has read it a moment ago, for decisions that need not be strict."""

    at: int
    state: GateState
