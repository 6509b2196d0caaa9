"""Read gates and limits of tenants with their use: the holders, and the runs that wait."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import NotFound, Unavailable
from onthedot.core.gate_names import MOST_KEY_CHARACTERS, NAME, GateId, keys_slot, tenant_gate, waiting_slot
from onthedot.core.ports import Deadline, Page, SlotEntry
from onthedot.core.records import Record, Status
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateState, Holder


@dataclass(frozen=True, slots=True)
class NamedRuns:
    """Some runs, and the jobs of runs that a schedule made. A run that cannot be read is not there."""

    runs: dict[str, Record] = field(default_factory=dict)
    jobs: dict[str, Record] = field(default_factory=dict)

    def job_id(self, run_id: str) -> str | None:
        run = self.runs.get(run_id)
        return None if run is None else run.job_id

    def name(self, run_id: str) -> str | None:
        """Return the name of a run's job."""
        run = self.runs.get(run_id)
        job = run if run is None or run.definition is not None else self.jobs.get(run.job_id)
        return None if job is None or job.definition is None else job.definition.name

    def worker(self, holder: Holder) -> str | None:
        """Return the worker of a holder's attempt. None: it has not started, has ended, or cannot be read."""
        run = self.runs.get(holder.run_id)
        is_running = run is not None and run.status is Status.RUNNING and run.attempt_token == holder.token
        return run.worker if run is not None and is_running else None


def read_named(engine: Engine, run_ids: Sequence[str]) -> NamedRuns:
    """Read the runs and their jobs that can be read in time."""
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    ids = list(dict.fromkeys(run_ids))
    if not ids:
        return NamedRuns()
    runs = dict(engine.store.get_many(ids, deadline).found)
    wanted = list({run.job_id for run in runs.values() if run.definition is None})
    return NamedRuns(runs, dict(engine.store.get_many(wanted, deadline).found) if wanted else {})


MOST_COUNTED: Final = 1_000
"""The most waiting runs or keys that one call counts."""
MOST_NAMED: Final = 100
"""The most holders and most waiting keys that one call names."""
MOST_WAITING: Final = 20
"""The most waiting runs that one call names."""
READERS: Final = 16


@dataclass(frozen=True, slots=True)
class Count:
    number: int = 0
    is_more: bool = False


@dataclass(frozen=True, slots=True)
class GateUse:
    in_use: int
    waiting: Count = Count()
    oldest_at: int | None = None
    """The fire time of the run that waits longest. None: no run waits."""
    first: Sequence[SlotEntry] = ()
    """The runs that wait longest."""


ListedGate = tuple[str, GateLimits, GateUse | None]
"""The name, the limits and the use of a gate. None: the use could not be read."""


def find_gate(engine: Engine, gate: GateId) -> GateLimits:
    """Return the limits of a gate or of a key. Raise NotFound or Unavailable."""
    is_possible = NAME.fullmatch(gate.name) and (gate.key is None or 0 < len(gate.key) <= MOST_KEY_CHARACTERS)
    limits = engine.gates.find(gate.tenant, gate.name) if is_possible else None
    if limits is None:
        raise NotFound("gate", gate.named)
    return limits


def list_gates(engine: Engine, tenant: str, limit: int, cursor: str | None) -> Page[ListedGate]:
    """Return a page of a tenant's gates, by name. Raise Unavailable."""
    page = engine.gates.names(tenant, limit, cursor)
    uses = _uses(engine, [GateId(tenant, name) for name, _ in page.items])
    return Page([(*gate, use) for gate, use in zip(page.items, uses, strict=True)], page.cursor)


def list_limits(engine: Engine, limit: int, cursor: str | None) -> Page[tuple[str, TenantLimits, GateUse | None]]:
    """Return a page of the tenants that have limits, by name. Raise Unavailable."""
    tenants = engine.limits.read().tenants
    names = sorted(name for name in tenants if cursor is None or name > cursor)
    page = names[:limit]
    uses = _uses(engine, [tenant_gate(name) for name in page])
    shown = [(name, tenants[name], use) for name, use in zip(page, uses, strict=True)]
    return Page(shown, page[-1] if len(names) > limit else None)


def use_of(engine: Engine, gate: GateId) -> GateUse | None:
    """Return the use of a gate. None: it cannot be read now."""
    try:
        state = engine.gates.read(gate)
        return use_at(engine, gate, state, len(holders_at(engine, gate, state)))
    except Unavailable:
        return None


def _uses(engine: Engine, gates: Sequence[GateId]) -> list[GateUse | None]:
    """Read the uses side by side, for a bounded time. One that cannot be read does not stop the others."""
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)

    def read(gate: GateId) -> GateUse | None:
        return use_of(engine, gate) if deadline.allows(engine.clock.now()) else None

    with ThreadPoolExecutor(READERS) as readers:
        return list(readers.map(read, gates))


def holders_at(engine: Engine, gate: GateId, state: GateState) -> list[Holder]:
    """Return the holders, the one that has had its place longest first."""
    pages = [state.holders] if state.capacity is None else engine.gates.pages(gate)
    return sorted({holder for page in pages for holder in page}, key=lambda holder: (holder.at, holder.token))


def use_at(engine: Engine, gate: GateId, state: GateState, in_use: int) -> GateUse:
    if not state.is_flagged:
        return GateUse(in_use)
    parts = range(state.parts or 1)
    slots = [waiting_slot(gate, priority, part) for priority in sorted(state.priorities) for part in parts]
    first_pages = {slot: engine.store.read_slot(slot) for slot in slots}
    first = sorted((entry for page in first_pages.values() for entry in page.items), key=lambda entry: entry.due_at)
    number = sum(len(page.items) for page in first_pages.values())
    for slot, page in first_pages.items():
        number += len(_more_entries(engine, slot, page, MOST_COUNTED + 1 - number))
    return GateUse(in_use, _count(number), first[0].due_at if first else None, first[:MOST_WAITING])


def waiting_keys(engine: Engine, gate: GateId) -> tuple[list[str], Count]:
    slot = keys_slot(gate)
    page = engine.store.read_slot(slot)
    entries = [*page.items, *_more_entries(engine, slot, page, MOST_COUNTED + 1 - len(page.items))]
    keys = [GateId.read(entry.run_id).key or "" for entry in entries]
    return keys, _count(len(keys))


def _more_entries(engine: Engine, slot: str, page: Page[SlotEntry], wanted: int) -> list[SlotEntry]:
    """Return the entries after a page of a slot: about as many as wanted, or all."""
    found: list[SlotEntry] = []
    while page.cursor is not None and len(found) < wanted:
        page = engine.store.read_slot(slot, page.cursor)
        found += page.items
    return found


def _count(number: int) -> Count:
    return Count(min(number, MOST_COUNTED), number > MOST_COUNTED)
