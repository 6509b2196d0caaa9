"""Services that take time and fail for a while: every call of a port waits in virtual time, as on AWS."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Clock, Deadline, ReadRecords, Undecided
from onthedot.core.slots import queue_key
from onthedot.engine import Engine

CHUNKS: Final[Mapping[str, int]] = {"get_many": 100, "move_many": 25, "create_many": 25, "send": 10}
"""Entries that one request carries, by method."""
RETRIED_MS: Final = 2_000
"""A single request that fails is tried again for this long."""
SENDING_MS: Final = 5_000
"""A queue that fails is tried again for this long, and in later calls once."""
PORTS: Final = ("store", "queues", "limits", "registry", "blobs", "patterns", "signing", "shards")


@dataclass(frozen=True)
class Trouble:
    """One service that fails, or is slow, from one instant to another."""

    port: str
    first: int
    last: int
    pool: str | None = None
    """Only the queues of this pool."""
    about: str | None = None
    """Only calls whose first argument begins with this text, such as a slot."""
    slow_ms: int = 0
    """Each request takes so much longer, and does not fail."""
    denied: bool = False
    """The service refuses at once, and retries do not help."""

    def hits(self, port: str, first_argument: object, now: int) -> bool:
        if port != self.port or not self.first <= now < self.last:
            return False
        if self.about is not None:
            return isinstance(first_argument, str) and first_argument.startswith(self.about)
        return self.pool is None or _pool_of(first_argument) == self.pool


@dataclass
class Services:
    """The services of a world, with the time that they take and the troubles that they have."""

    clock: Clock
    chance: random.Random
    pools: frozenset[str]
    """The pools that have queues."""
    request_ms: int = 12
    """The longest time of a request without trouble."""
    troubles: list[Trouble] = field(default_factory=list)
    failing: set[str | None] = field(default_factory=set)
    """The pools whose queues failed when they were last sent to."""

    def engine(self, inner: Engine) -> Engine:
        """Return the engine with all its calls by way of these services."""
        ports: dict[str, Any] = {port: Service(getattr(inner, port), port, self) for port in PORTS}
        ports["gates"] = Service(inner.gates, "store", self)  # they are in the same table
        return replace(inner, **ports)

    def slowest_ms(self) -> int:
        """Return the longest time that a request takes which does not fail."""
        return self.request_ms + max((trouble.slow_ms for trouble in self.troubles), default=0)

    def fails(self, port: str, first_argument: object) -> Trouble | None:
        """Let the time of one request pass. Return the trouble if it failed."""
        hit = [trouble for trouble in self.troubles if trouble.hits(port, first_argument, self.clock.now())]
        self.wait(self.chance.randint(1, self.request_ms) + max((trouble.slow_ms for trouble in hit), default=0))
        return next((trouble for trouble in hit if not trouble.slow_ms), None)

    def wait(self, milliseconds: int) -> None:
        self.clock.sleep_until(self.clock.now() + milliseconds)


@dataclass(frozen=True)
class Service:
    """One port. Batches go in chunks, each in one request, and a chunk that fails is tried until the deadline."""

    inner: Any
    port: str
    services: Services

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method
        if name in CHUNKS:
            return lambda entries, deadline: self._batch(name, method, entries, deadline)
        return lambda *arguments, **named: self._single(name, lambda: method(*arguments, **named), arguments)

    def _single(self, name: str, call: Callable[[], Any], arguments: Sequence[Any]) -> Any:
        first = arguments[0] if arguments else None
        if name == "visible" and first not in self.services.pools:
            raise Unreachable(f"this stage has no queue {queue_key(*arguments)}")
        if name == "oldest_age_ms" and first not in self.services.pools:
            return None
        trouble = self.services.fails(self.port, first)
        if trouble is not None and trouble.denied:
            raise Unreachable(f"{self.port}.{name} is denied")
        if trouble is not None:
            self.services.wait(RETRIED_MS)
            raise Unavailable(f"{self.port}.{name}")
        return call()

    def _batch(self, name: str, method: Callable[..., Any], entries: Sequence[Any], deadline: Deadline) -> Any:
        parts = [self._chunk(name, method, chunk, deadline) for chunk in self._chunks(name, entries)]
        if name == "get_many":
            return _merged(parts)
        return [answer for part in parts for answer in part]

    def _chunks(self, name: str, entries: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the entries of each request. A request sends to one queue."""
        queues: dict[object, list[Any]] = {}
        for entry in entries:
            queues.setdefault((entry.pool, entry.priority) if name == "send" else None, []).append(entry)
        size = CHUNKS[name]
        return [queued[n : n + size] for queued in queues.values() for n in range(0, len(queued), size)]

    def _chunk(self, name: str, method: Callable[..., Any], chunk: Sequence[Any], deadline: Deadline) -> Any:
        if name == "send" and chunk[0].pool not in self.services.pools:
            return chunk
        clock, pause = self.services.clock, 50
        queue = chunk[0].pool if name == "send" else None
        until = deadline if queue is None else deadline.at_most(clock.now() + self._patience(queue))
        while (trouble := self.services.fails(self.port, chunk[0])) is not None:
            if trouble.denied or not until.allows(clock.now() + pause):
                self.services.failing.add(queue)
                return _left(name, chunk)
            self.services.wait(pause)
            pause = min(2 * pause, 5_000)
        self.services.failing.discard(queue)
        return method(chunk, deadline)

    def _patience(self, pool: str) -> int:
        return 0 if pool in self.services.failing else SENDING_MS


def _left(name: str, chunk: Sequence[Any]) -> Any:
    """Return the answer for entries that were not done in time."""
    if name == "get_many":
        return ReadRecords({}, unread=frozenset(chunk))
    return chunk if name == "send" else [Undecided("throttled")] * len(chunk)


def _pool_of(argument: object) -> object:
    """Return the pool that a call to a queue is about: its argument, or that of its messages or receipt."""
    message = getattr(argument, "message", argument)
    return getattr(message, "pool", message)


def _merged(parts: Sequence[ReadRecords]) -> ReadRecords:
    return ReadRecords(
        {run_id: run for part in parts for run_id, run in part.found.items()},
        {run_id: faulty for part in parts for run_id, faulty in part.unreadable.items()},
        frozenset(run_id for part in parts for run_id in part.unread),
    )
