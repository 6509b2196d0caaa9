"""The engine as features know it: the core, and the stores of the features."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from onthedot.access.signing_store import SigningStore
from onthedot.access.token_store import TokenStore
from onthedot.core.engine import Core
from onthedot.core.gate_names import GateId
from onthedot.core.items import Items
from onthedot.core.ports import Clock
from onthedot.events.pattern_store import PatternStore
from onthedot.gates.limit_store import LimitsStore
from onthedot.gates.state import GateState
from onthedot.gates.state_store import GateStore
from onthedot.statistics.store import StatisticsStore
from onthedot.transfer.stage_store import StageStore
from onthedot.workers.registry import WorkerRegistry

if TYPE_CHECKING:
    from onthedot.transfer.stored_entries import Transfer


@dataclass(frozen=True, slots=True)
class KnownTicks:
    at: int
    """The time of the read."""
    ticked: Mapping[int, int]
    """The time of the last completed tick of each shard that had one."""
    born: Mapping[int, int]
    """The time since which each shard is in use. It is missing for a shard that no writer has used."""
    failed: bool = False
    """Whether they could not be read."""
    earlier: int | None = None
    """Of a process that does all ticks itself: the last tick before its start."""


@dataclass(frozen=True, slots=True)
class KnownPart:
    until: int
    """The time from which it is read again."""
    value: Any


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The stores of the features, which stand on Items and are the same on both engines."""

    limits: LimitsStore
    registry: WorkerRegistry
    signing: SigningStore
    patterns: PatternStore
    gates: GateStore
    tokens: TokenStore
    stage: StageStore = field(compare=False)
    statistics: StatisticsStore = field(compare=False)

    @property
    def stores(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(Stores)}


def stores_on(
    items: Items,
    clock: Clock,
    *,
    known_ms: int,
    settle_ms: int,
    remembers: bool = False,
    gates: type[GateStore] = GateStore,
    page_size: int | None = None,
) -> Stores:
    """Return the stores on these items. They remember nothing unless asked, but the state of the stage."""
    return Stores(
        limits=LimitsStore(items, clock, remembers=remembers),
        registry=WorkerRegistry(items),
        signing=SigningStore(items, clock, remembers=remembers),
        patterns=PatternStore(items) if page_size is None else PatternStore(items, page_size),
        gates=gates(items, clock, remembers=remembers),
        tokens=TokenStore(items, clock),
        stage=StageStore(items, clock, known_ms=known_ms, settle_ms=settle_ms),
        statistics=StatisticsStore(items),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Core, Stores):
    """Everything of one deployment: what the core knows, and the stores of the features. `wiring` builds it."""

    transfer: "Transfer | None" = field(default=None, compare=False)
    """None: this engine can neither export nor import."""
    known_gates: dict[GateId, tuple[int, GateState]] = field(default_factory=dict, compare=False)
    """The gates of queues that this process has read lately, with the time of the read."""
    known_parts: dict[tuple[str, str], KnownPart] = field(default_factory=dict, compare=False)
    """The parts of overviews that this process has read lately, by tenant and name."""
    known_ticks: list[KnownTicks] = field(default_factory=list, compare=False)
    """The last read of the ticks, at most one. Anyone may ask for the health, and a flood of calls must not read."""
