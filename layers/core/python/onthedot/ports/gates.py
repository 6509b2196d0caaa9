"""The store of gates: their limits, their holders and their flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange, GateState, Holder
from onthedot.ports.runs import Page


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


class GateStore(Protocol):
    """A store of gates. Every call is about one item. All reads are consistent."""

    def find(self, tenant: str, name: str) -> GateLimits | None:
        """Return the limits of a tenant's gate. None: there is no such gate."""
        ...

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        """Set the limits of a gate. None deletes it. Its state stays."""
        ...

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        """Return a page of a tenant's gates, by name."""
        ...

    def read(self, gate: GateId) -> GateState:
        """Return the state of a gate or key."""
        ...

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        """Return the holders of all pages, page 0 first. A page without holders may be missing at the end."""
        ...

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        """Add a holder to a page if the page has less than `room` holders.

        Page 0 also expects its `capacity`, and for a newcomer that the gate is not flagged. A holder that is there
        already counts as added: the reply to an earlier try was lost.
        """
        ...

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        """Remove this very holder, and return the state after it. Nothing changes when it is not there."""
        ...

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        """Apply a change to the state, whole or not at all. A missing state is `GateState()`.

        A caller whose reply was lost sees its own change as a refusal. Changes are such that this does no harm.
        """
        ...
