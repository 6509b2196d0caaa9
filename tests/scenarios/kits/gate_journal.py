"""A journal of a gated world: every write of runs, gates and limits, with its virtual time, noted by triggers."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from onthedot.core.codec import stored_name
from onthedot.core.gate_names import TENANT, GateId
from onthedot.core.records import Status
from onthedot.core.schema import GATES_PREFIX, LIMITS_PARTITION, TENANT_PREFIX, Key, gate_name_of, gate_of
from onthedot.gates.limit_store import limits_of
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import Holder
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
    due_at: int
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
_ITEM: Final = ("partition", "sort", "content")


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
            connection.create_function("item_written", len(_ITEM), self._item)
            _on_writes(connection, "runs", f"run_written({_new(_RUN)})")
            _on_writes(connection, "items", f"item_written({_new(_ITEM)})")
            connection.execute(
                "CREATE TRIGGER journal_items_delete AFTER DELETE ON items"
                " BEGIN SELECT item_written(OLD.partition, OLD.sort, NULL); END"
            )

    def _run(self, *values: Any) -> None:
        named = dict(zip(_RUN, values, strict=True))
        named["status"] = Status(named["status"])
        for name in ("gates", "held"):
            named[name] = tuple(json.loads(named[name])) if named[name] else ()
        named["attempt"] = named["attempt"] or 0
        self.runs.append(RunWrite(self.world.clock.now(), **named))

    def _item(self, partition: str, sort: str, content: str | None) -> None:
        key, now = Key(partition, sort), self.world.clock.now()
        values: dict[str, Any] = {} if content is None else json.loads(content)
        text, gate = values.get("limits"), gate_of(key)
        if gate is not None and content is not None:
            held = frozenset(map(Holder.read, values.get("h", ())))
            about = (values.get("c"), values.get("slot"), values.get("f"))
            self.gates.append(GateWrite(now, GateId.read(gate), int(sort), held, *about))
        elif partition.startswith(GATES_PREFIX):
            of = GateId(partition.removeprefix(GATES_PREFIX), gate_name_of(key))
            self.limits.append(LimitsWrite(now, of, None if text is None else limits_of(GateLimits, text)))
        elif partition == LIMITS_PARTITION:
            of = GateId(sort.removeprefix(TENANT_PREFIX), TENANT)
            self.limits.append(LimitsWrite(now, of, None if text is None else limits_of(TenantLimits, text)))


def _new(names: tuple[str, ...]) -> str:
    return ", ".join(f"NEW.{stored_name(name)}" for name in names)


def _on_writes(connection: Any, table: str, call: str) -> None:
    for event in ("INSERT", "UPDATE"):
        connection.execute(f"CREATE TRIGGER journal_{table}_{event} AFTER {event} ON {table} BEGIN SELECT {call}; END")
