"""The interfaces between the use cases and the outside: stores, queues, targets and the clock.

Both engines, AWS and SQLite, implement the stores and queues and pass one contract suite. Every method that calls
something outside the process may raise `Unavailable` after its bounded retries. A write that raised it may have
happened all the same.
"""

from onthedot.ports.blobs import Blobs, ListedBlobs
from onthedot.ports.clock import Clock
from onthedot.ports.engine import Engine, KnownPart, KnownTicks
from onthedot.ports.events import EventBus, PatternEntry, RecordChange, Unpublishable
from onthedot.ports.gates import GateAnswer, KnownGate
from onthedot.ports.queues import LeaseWait, LeaseWaits, QueueCounts, Received, RunMessage, RunQueues, Tick, TickQueue
from onthedot.ports.runs import (
    Deadline,
    DueIndex,
    ListEntry,
    Moved,
    Page,
    ReadRecords,
    Refused,
    RunStore,
    SlotEntry,
    TickLease,
    TickTimes,
    Undecided,
)
from onthedot.ports.statistics import PlacedEnd
from onthedot.ports.targets import RESULT_BYTES, Answer, Call, Performer
from onthedot.ports.tenants import DeletedPage, Principal, Token
from onthedot.ports.transfer import StoredPage, Transfer

__all__ = [
    "RESULT_BYTES",
    "Answer",
    "Blobs",
    "Call",
    "Clock",
    "Deadline",
    "DeletedPage",
    "DueIndex",
    "Engine",
    "EventBus",
    "GateAnswer",
    "KnownGate",
    "KnownPart",
    "KnownTicks",
    "LeaseWait",
    "LeaseWaits",
    "ListEntry",
    "ListedBlobs",
    "Moved",
    "Page",
    "PatternEntry",
    "Performer",
    "PlacedEnd",
    "Principal",
    "QueueCounts",
    "ReadRecords",
    "Received",
    "RecordChange",
    "Refused",
    "RunMessage",
    "RunQueues",
    "RunStore",
    "SlotEntry",
    "StoredPage",
    "Tick",
    "TickLease",
    "TickQueue",
    "TickTimes",
    "Token",
    "Transfer",
    "Undecided",
    "Unpublishable",
]
