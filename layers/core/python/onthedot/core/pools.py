"""Pools: groups of workers with the same capabilities and their own queues. A job goes to the smallest pool that fits.

*Push* pools are Lambda functions that their queues invoke. *Pull* pools are processes that ask for work.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from onthedot.core.choices import LONGEST_PULL, Requirements
from onthedot.core.errors import Problem
from onthedot.targets.types import PULLED, PUSHED, PythonTarget, Target, type_of

LONGEST_IN_BATCH: Final = 60
"""The most seconds of an attempt in a push pool that takes several runs at once."""
LONGEST_PUSH: Final = 840
"""The most seconds of an attempt in a push pool. A Lambda worker lives 15 minutes, and must also record the end."""


class PoolKind(StrEnum):
    PUSH = "push"
    PULL = "pull"


MOST_RECEIVES: Final = {PoolKind.PUSH: 20, PoolKind.PULL: 1000}
"""Deliveries after which a queue takes a message for a dead letter. The most that SQS allows is 1000.

A worker returns a message that comes too early, while another worker has the run, and in a pull pool every second while
it has no room for it.
"""


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    kind: PoolKind
    capabilities: frozenset[str]
    cpu: float
    memory_mb: int
    """`cpu` and `memory_mb` are the most that the largest worker can give to one run."""
    longest_seconds: int
    batch: int = 1
    """Number of runs that a push worker takes at once. A run whose worker was lost must not share a worker again."""
    queues: int = 3
    """Number of queues: three, one for each priority, or one for all, where polling three would cost too much."""
    storage_mb: int = 0
    """The most that the worker with the largest disk can give to one run. 0: runs that ask for storage go elsewhere."""

    @property
    def size(self) -> tuple[float, ...]:
        return (self.memory_mb, self.cpu, self.longest_seconds)


@dataclass(frozen=True, slots=True)
class Needs:
    capabilities: frozenset[str]
    cpu: float = 0
    memory_mb: int = 0
    seconds: int = 0
    storage_mb: int = 0


PULL_STORAGE_MB: Final = 1_000_000
"""The most storage that a run may ask for in a pull pool that does not say another number."""
DEFAULT_POOLS: Final = (
    Pool("default", PoolKind.PUSH, PUSHED, cpu=0.1, memory_mb=40, longest_seconds=LONGEST_IN_BATCH, batch=10),
    Pool("long", PoolKind.PUSH, PUSHED, cpu=0.25, memory_mb=384, longest_seconds=LONGEST_PUSH, queues=1),
    Pool(
        "pull",
        PoolKind.PULL,
        PULLED,
        cpu=4,
        memory_mb=8192,
        longest_seconds=LONGEST_PULL,
        storage_mb=PULL_STORAGE_MB,
    ),
)


@dataclass(frozen=True, slots=True)
class Pools:
    all: tuple[Pool, ...] = DEFAULT_POOLS

    def get(self, name: str) -> Pool | None:
        return next((pool for pool in self.all if pool.name == name), None)

    def is_pull(self, name: str) -> bool:
        """Return whether workers of a user take the runs of this pool. False for a pool that is gone."""
        pool = self.get(name)
        return pool is not None and pool.kind is PoolKind.PULL

    def alone(self, name: str) -> str:
        """Return the pool in which a run whose worker was lost is tried again, alone: it may kill its worker."""
        pool = self.get(name)
        if pool is None or pool.batch == 1:
            return name
        single = [p for p in self.all if p.kind is pool.kind and p.batch == 1 and _does_all_of(p, pool)]
        return min(single, key=lambda p: p.size).name if single else name

    def choose(self, needs: Needs, offered: Mapping[str, frozenset[str]] | None = None) -> Pool | list[Problem]:
        """Return the smallest pool that fits, or the problems with the one that comes nearest.

        `offered` has what the live workers of each pool can do beyond the pool's capabilities.
        """
        found = [(pool, missing(pool, needs, (offered or {}).get(pool.name, frozenset()))) for pool in self.all]
        fitting = [pool for pool, lacking in found if not lacking]
        if fitting:
            return min(fitting, key=lambda pool: pool.size)
        return min(found, key=lambda one: _distance(*one))[1]


def _distance(pool: Pool, lacking: Sequence[Problem]) -> tuple[float, ...]:
    """Return how far a pool is from fitting: missing capabilities weigh most, and the larger is nearer."""
    unable = sum(lack.field == "requirements.capabilities" for lack in lacking)
    return (unable, len(lacking), *(-amount for amount in pool.size))


def _does_all_of(pool: Pool, other: Pool) -> bool:
    most = Needs(other.capabilities, other.cpu, other.memory_mb, other.longest_seconds, other.storage_mb)
    return not missing(pool, most)


def missing(pool: Pool, needs: Needs, offered: frozenset[str] = frozenset()) -> list[Problem]:
    """Return what the pool lacks for these needs, as problems of the request. An empty list: the pool fits."""
    lacking = [
        Problem("requirements.capabilities", f"no worker of pool {pool.name} can do {capability!r}")
        for capability in sorted(needs.capabilities - pool.capabilities - offered)
    ]
    if needs.cpu > pool.cpu:
        lacking.append(Problem("requirements.cpu", f"pool {pool.name} has at most {pool.cpu:g} for one run"))
    if needs.memory_mb > pool.memory_mb:
        lacking.append(Problem("requirements.memory_mb", f"pool {pool.name} has at most {pool.memory_mb} for one run"))
    if needs.storage_mb > pool.storage_mb:
        has = f"has at most {pool.storage_mb} for one run" if pool.storage_mb else "offers no storage"
        lacking.append(Problem("requirements.storage_mb", f"pool {pool.name} {has}"))
    if needs.seconds > pool.longest_seconds:
        lacking.append(Problem("timeout_seconds", f"pool {pool.name} allows {pool.longest_seconds} s for an attempt"))
    return lacking


def needs_of(target: Target, requirements: Requirements, timeout_seconds: int) -> Needs:
    capabilities = frozenset({type_of(target), *requirements.capabilities})
    return Needs(
        capabilities, requirements.cpu, requirements.memory_mb, timeout_seconds, storage_mb=requirements.storage_mb
    )


def worker_needs(target: Target, requirements: Requirements, timeout_seconds: int) -> Needs:
    """Return the needs that choose a worker in the pool. They include the handler, which a worker's app may lack."""
    needs = needs_of(target, requirements, timeout_seconds)
    if not isinstance(target, PythonTarget):
        return needs
    return replace(needs, capabilities=needs.capabilities | {f"python:{target.handler}"})


def pools_to_text(pools: Iterable[Pool]) -> list[str]:
    """Return each pool as one short text, for the settings of the functions, which have little room."""
    return [
        f"{pool.name}/{pool.kind}/{','.join(sorted(pool.capabilities))}/{pool.cpu!r}/{pool.memory_mb}"
        f"/{pool.longest_seconds}/{pool.batch}/{pool.queues}" + (f"/{pool.storage_mb}" if pool.storage_mb else "")
        for pool in pools
    ]


def pools_from_text(texts: Iterable[str]) -> Pools:
    return Pools(tuple(_pool_from_text(text) for text in texts))


def _pool_from_text(text: str) -> Pool:
    name, kind, capabilities, cpu, *numbers = text.split("/")
    with_storage = numbers if len(numbers) == 5 else [*numbers, "0"]
    memory_mb, longest_seconds, batch, queues, storage_mb = (int(number) for number in with_storage)
    able = frozenset(capabilities.split(","))
    return Pool(name, PoolKind(kind), able, float(cpu), memory_mb, longest_seconds, batch, queues, storage_mb)
