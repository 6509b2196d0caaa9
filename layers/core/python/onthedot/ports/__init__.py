"""The interfaces between the use cases and the outside: stores, queues, targets and the clock.

Both engines, AWS and SQLite, implement the stores and queues and pass one contract suite. Every method that calls
something outside the process may raise `Unavailable` after its bounded retries. A write that raised it may have
happened all the same.
"""

from onthedot.ports.blobs import Blobs, ListedBlobs
from onthedot.ports.clock import Clock
from onthedot.ports.engine import Engine, KnownPart, KnownTicks
from onthedot.ports.events import EventBus, PatternEntry, PatternStore, RecordChange, Unpublishable
from onthedot.ports.gates import GateAnswer, GateStore, KnownGate
from onthedot.ports.queues import LeaseWait, LeaseWaits, QueueCounts, Received, RunMessage, RunQueues, Tick, TickQueue
from onthedot.ports.runs import (
    Deadline,
    ListEntry,
    Moved,
    Page,
    ProgressStore,
    ReadRecords,
    Refused,
    RunStore,
    SlotEntry,
    TickLease,
    TickTimes,
    Undecided,
)
from onthedot.ports.shards import ShardStore
from onthedot.ports.statistics import NoStatistics, PlacedEnd, StatisticsStore, StatisticsWriter
from onthedot.ports.targets import RESULT_BYTES, Answer, Call, Performer
from onthedot.ports.tenants import DeletedPage, LimitsStore, Principal, SigningStore, TenantData, Token, TokenStore
from onthedot.ports.transfer import AlwaysOpen, StageStore, StoredEntries, StoredPage, Transfer
from onthedot.ports.workers import WorkerRegistry

__all__ = [
    "RESULT_BYTES",
    "AlwaysOpen",
    "Answer",
    "Blobs",
    "Call",
    "Clock",
    "Deadline",
    "DeletedPage",
    "Engine",
    "EventBus",
    "GateAnswer",
    "GateStore",
    "KnownGate",
    "KnownPart",
    "KnownTicks",
    "LeaseWait",
    "LeaseWaits",
    "LimitsStore",
    "ListEntry",
    "ListedBlobs",
    "Moved",
    "NoStatistics",
    "Page",
    "PatternEntry",
    "PatternStore",
    "Performer",
    "PlacedEnd",
    "Principal",
    "ProgressStore",
    "QueueCounts",
    "ReadRecords",
    "Received",
    "RecordChange",
    "Refused",
    "RunMessage",
    "RunQueues",
    "RunStore",
    "ShardStore",
    "SigningStore",
    "SlotEntry",
    "StageStore",
    "StatisticsStore",
    "StatisticsWriter",
    "StoredEntries",
    "StoredPage",
    "TenantData",
    "Tick",
    "TickLease",
    "TickQueue",
    "TickTimes",
    "Token",
    "TokenStore",
    "Transfer",
    "Undecided",
    "Unpublishable",
    "WorkerRegistry",
]
