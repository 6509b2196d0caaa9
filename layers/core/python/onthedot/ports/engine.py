"""The ports that scheduling needs, as one value."""

from dataclasses import dataclass, field

from onthedot.domain.deployment import Deployment
from onthedot.domain.gates.names import GateId
from onthedot.ports.blobs import Blobs
from onthedot.ports.clock import Clock
from onthedot.ports.events import PatternStore
from onthedot.ports.gates import GateStore, KnownGate
from onthedot.ports.queues import RunQueues
from onthedot.ports.runs import RunStore
from onthedot.ports.shards import ShardStore
from onthedot.ports.tenants import LimitsStore, SigningStore
from onthedot.ports.workers import WorkerRegistry


@dataclass(frozen=True, slots=True)
class Engine:
    """The stores, queues and parameters of one deployment. The modules in `wiring` build it."""

    store: RunStore
    queues: RunQueues
    blobs: Blobs
    clock: Clock
    deployment: Deployment
    limits: LimitsStore
    registry: WorkerRegistry
    signing: SigningStore
    patterns: PatternStore
    shards: ShardStore
    gates: GateStore
    known_gates: dict[GateId, KnownGate] = field(default_factory=dict, compare=False)
    """The gates of queues that this process has read lately."""
