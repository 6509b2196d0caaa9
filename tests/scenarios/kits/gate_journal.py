"""A journal of a gated world: every write of runs, gates and limits, with its virtual time, noted by triggers."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from onthedot import registry_codec
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import TENANT, GateId
from onthedot.domain.gates.state import Holder
from onthedot.domain.runs.records import Status
from tests.builders import World


class RunWrite(NamedTuple):
    """A run as one write left it."""

    at: int
    run_id: str
    job_id: str
    tenant: str
    kind: str
    status: Status
    generation: str
    slot: str | None
    fire_at: int
    gates: tuple[str, ...]
    held: tuple[str, ...]
    attempt: int
    attempt_token: str | None
    started_at: int | None
    lease_until: int | None
    pool: str
    reason: str | None
    worker: str | None
    woken: str | None


class GateWrite(NamedTuple):
    """A page of a gate as one write left it. Only page 0 has a flag."""

    at: int
    gate: GateId
    page: int
    holders: frozenset[Holder]
    capacity: int | None
    slot: str | None
    flagged_at: int | None


class LimitsWrite(NamedTuple):
    """The limits of a gate without its key. None: it was deleted."""

    at: int
    gate: GateId
    limits: GateLimits | None


_RUN: Final = RunWrite._fields[1:]
_GATE: Final = ("gate", "page", "holders", "capacity", "slot", "flagged_at")


@dataclass
class Journal:
    """All writes of a world, in their order."""

    world: World
    runs: list[RunWrite] = field(default_factory=list)
    gates: list[GateWrite] = field(default_factory=list)
    limits: list[LimitsWrite] = field(default_factory=list)

    def __post_init__(self) -> None:
        with self.world.database.transaction() as connection:
            connection.create_function("run_written", len(_RUN), self._run)
            connection.create_function("gate_written", len(_GATE), self._gate)
            connection.create_function("limits_written", 3, self._limits)
            _on_writes(connection, "runs", f"run_written({_new(_RUN)})")
            _on_writes(connection, "gate_states", f"gate_written({_new(_GATE)})")
            _on_writes(connection, "gates", "limits_written(NEW.tenant, NEW.name, NEW.limits)")
            _on_writes(connection, "limits", f"limits_written(NEW.name, '{TENANT}', NEW.content)")
            connection.execute(_on_delete("gates", "limits_written(OLD.tenant, OLD.name, NULL)"))
            connection.execute(_on_delete("limits", f"limits_written(OLD.name, '{TENANT}', NULL)"))

    def _run(self, *values: Any) -> None:
        named = dict(zip(_RUN, values, strict=True))
        named["status"] = Status(named["status"])
        for name in ("gates", "held"):
            named[name] = tuple(json.loads(named[name])) if named[name] else ()
        named["attempt"] = named["attempt"] or 0
        self.runs.append(RunWrite(self.world.clock.now(), **named))

    def _gate(self, gate: str, page: int, holders: str, *rest: Any) -> None:
        held = frozenset(map(Holder.read, json.loads(holders)))
        self.gates.append(GateWrite(self.world.clock.now(), GateId.read(gate), page, held, *rest))

    def _limits(self, tenant: str, name: str, text: str | None) -> None:
        gate = GateId(tenant, name)
        limits: GateLimits | None = None
        if text is not None:
            limits = registry_codec.limits_of(text) if name == TENANT else registry_codec.gate_limits_of(text)
        now = self.world.clock.now()
        # A put deletes the row and writes it anew.
        self.limits = [one for one in self.limits if (one.at, one.gate) != (now, gate)]
        self.limits.append(LimitsWrite(now, gate, limits))


def _new(names: tuple[str, ...]) -> str:
    return ", ".join(f"NEW.{name}" for name in names)


def _on_writes(connection: Any, table: str, call: str) -> None:
    for event in ("INSERT", "UPDATE"):
        connection.execute(f"CREATE TRIGGER journal_{table}_{event} AFTER {event} ON {table} BEGIN SELECT {call}; END")


def _on_delete(table: str, call: str) -> str:
    return f"CREATE TRIGGER journal_{table}_delete AFTER DELETE ON {table} BEGIN SELECT {call}; END"
