"""The names of gates, and the slots that belong to them.

A gate belongs to a tenant. `customer:42` is key `42` of gate `customer`, and has the limits of the gate to itself. The
limits of a tenant, the backlog of a queue and the turn of a job's runs are gates too, with names that no user can give.
"""

import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Self

from onthedot.core.choices import Priority
from onthedot.core.slots import SlotKind, bucket_of, shard_of, slot_name

TENANT: Final = "@tenant"
QUEUE: Final = "@queue"
"""The key is the name of the queue, and the tenant is empty."""
TURN: Final = "@turn"
"""At these gates runs wait that must not overlap another run of their job. The key is the job's id."""
MOST_KEY_CHARACTERS: Final = 128
WAIT: Final = "wait"
KEYS: Final = "keys"
NAME: Final = re.compile(r"[a-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, order=True)
class GateId:
    tenant: str
    name: str
    key: str | None = None

    @classmethod
    def of(cls, tenant: str, named: str) -> Self:
        name, colon, key = named.partition(":")
        return cls(tenant, name, key if colon else None)

    @classmethod
    def read(cls, text: str) -> Self:
        length, _, rest = text.partition(":")
        return cls.of(rest[: int(length)], rest[int(length) + 1 :])

    @property
    def named(self) -> str:
        return self.name if self.key is None else f"{self.name}:{self.key}"

    @property
    def text(self) -> str:
        """The gate as one text. The length of the tenant's name comes first, so that no two gates have the same."""
        return f"{len(self.tenant)}:{self.tenant}#{self.named}"

    @property
    def base(self) -> "GateId":
        return self if self.key is None or self.name in (QUEUE, TURN) else GateId(self.tenant, self.name)

    @property
    def is_key(self) -> bool:
        return self.base != self


def tenant_gate(tenant: str) -> GateId:
    return GateId(tenant, TENANT)


def queue_gate(queue: str) -> GateId:
    return GateId("", QUEUE, queue)


def turn_gate(tenant: str, job_id: str) -> GateId:
    return GateId(tenant, TURN, job_id)


def name_of(gate: GateId) -> str:
    if gate.name == TENANT:
        return f"the limits of tenant {gate.tenant}"
    if gate.name == QUEUE:
        return f"queue {gate.key}"
    if gate.name == TURN:
        return f"its turn among the runs of job {gate.key}"
    return f"gate {gate.name}" if gate.key is None else f"gate {gate.name}, key {gate.key}"


def where(gate: GateId) -> str:
    """Return the place of a run that waits at the gate: `at gate stripe`, or `for its turn …`."""
    return f"{'for' if gate.name == TURN else 'at'} {name_of(gate)}"


def waiting_slot(gate: GateId, priority: Priority, part: int) -> str:
    """Return one part of the waiting list of a gate: a partition of the due index, ordered by fire time.

    Its second part stands where other slots have their shard. Records that cannot be read go to the aside slot of it.
    """
    return f"{WAIT}#0#{priority}#{part}#{gate.text}"


def gate_of_slot(slot: str | None) -> GateId | None:
    parts = (slot or "").split("#", 4)
    return GateId.read(parts[4]) if parts[0] == WAIT else None


def part_of_slot(slot: str | None) -> int:
    parts = (slot or "").split("#", 4)
    return int(parts[3]) if parts[0] == WAIT else 0


def keys_slot(gate: GateId) -> str:
    """Return the slot of the keys of a gate at which runs may wait, ordered by the time of their next look."""
    return f"{KEYS}#0#{gate.base.text}"


def look_slot(gate: GateId, at: int, shards: int) -> str:
    return slot_name(SlotKind.WATCH, shard_of(gate.text, shards), bucket_of(at))


_H, _M, _L = Priority.HIGH, Priority.MEDIUM, Priority.LOW
_ROUND: Final = (_H, _H, _M, _H, _M, _H, _L, _H, _M, _H)


def turns(token: str) -> Iterator[Priority]:
    """Yield one round of priorities, from a place in it that depends on the token, which is random."""
    begin = zlib.crc32(token.encode()) % len(_ROUND)
    return chain(islice(_ROUND, begin, None), islice(_ROUND, begin))


def share(priority: Priority, waiting: Collection[Priority]) -> float:
    """Return the part of the turns that a priority gets while runs of these priorities wait."""
    turns_of = Counter(_ROUND)
    return turns_of[priority] / sum(turns_of[one] for one in {priority, *waiting})
