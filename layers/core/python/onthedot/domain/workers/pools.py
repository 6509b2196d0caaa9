"""Pools: workers of one capability set, with three queues each. A job's needs choose the smallest that fits.

*Push* pools are Lambda functions fed by their queues; *pull* pools are processes that ask for work.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from onthedot.domain.errors import Problem
from onthedot.domain.targets.types import PythonTarget, Target, type_of

LONGEST_IN_BATCH: Final = 60
LONGEST_PUSH: Final = 840
"""A Lambda worker lives 15 minutes; an attempt must end, and be recorded, within it."""
LONGEST_PULL: Final = 39_600
"""SQS hides a message for at most 12 hours."""


class PoolKind(StrEnum):
    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class Pool:
    """What its workers can do. `cpu` and `memory_mb` are what the largest of them can give to one run."""

    name: str
    kind: PoolKind
    capabilities: frozenset[str]
    cpu: float
    memory_mb: int
    longest_seconds: int
    batch: int = 1
    """Runs that a push worker takes at once; one that lost a worker must not be among others."""
    queues: int = 3
    """One for each priority; or one for all, where pollers of three would cost more than the pool is worth."""

    @property
    def size(self) -> tuple[float, ...]:
        return (self.memory_mb, self.cpu, self.longest_seconds)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a user asks of a job's worker."""

    capabilities: tuple[str, ...] = ()
    cpu: float = 0
    memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """All that a worker must have for a run."""

    capabilities: frozenset[str]
    cpu: float = 0
    memory_mb: int = 0
    seconds: int = 0


_PUSHED: Final = frozenset({"http", "lambda", "aws", "grpc", "workflow"})
DEFAULT_POOLS: Final = (
    Pool("default", PoolKind.PUSH, _PUSHED, cpu=0.1, memory_mb=100, longest_seconds=LONGEST_IN_BATCH, batch=10),
    Pool("long", PoolKind.PUSH, _PUSHED, cpu=0.5, memory_mb=768, longest_seconds=LONGEST_PUSH, queues=1),
    Pool(
        "pull",
        PoolKind.PULL,
        frozenset({"http", "grpc", "shell", "python"}),
        cpu=4,
        memory_mb=8192,
        longest_seconds=LONGEST_PULL,
    ),
)


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools of a stage."""

    all: tuple[Pool, ...] = DEFAULT_POOLS

    def get(self, name: str) -> Pool | None:
        return next((pool for pool in self.all if pool.name == name), None)

    def alone(self, name: str) -> str:
        """Where a run that lost its worker is tried again: by itself, so that it takes no others with it."""
        pool = self.get(name)
        if pool is None or pool.batch == 1:
            return name
        single = [p for p in self.all if p.kind is pool.kind and p.batch == 1 and _does_all_of(p, pool)]
        return min(single, key=lambda p: p.size).name if single else name

    def choose(self, needs: Needs, offered: Mapping[str, frozenset[str]] | None = None) -> Pool | list[Problem]:
        """The smallest pool that fits, or what the nearest one lacks.

        `offered`: by pool, what its live workers can do beyond what the pool promises.
        """
        found = [(pool, missing(pool, needs, (offered or {}).get(pool.name, frozenset()))) for pool in self.all]
        fitting = [pool for pool, lacking in found if not lacking]
        if fitting:
            return min(fitting, key=lambda pool: pool.size)
        return min(found, key=lambda one: _distance(*one))[1]


def _distance(pool: Pool, lacking: Sequence[Problem]) -> tuple[float, ...]:
    """How far a pool is from fitting: what it cannot do at all weighs most, and of two the larger is nearer."""
    unable = sum(lack.field == "requirements.capabilities" for lack in lacking)
    return (unable, len(lacking), *(-amount for amount in pool.size))


def _does_all_of(pool: Pool, other: Pool) -> bool:
    """Whatever fits into the other fits into this one."""
    return not missing(pool, Needs(other.capabilities, other.cpu, other.memory_mb, other.longest_seconds))


def missing(pool: Pool, needs: Needs, offered: frozenset[str] = frozenset()) -> list[Problem]:
    """What the pool lacks for these needs; nothing if it fits."""
    lacking = [
        Problem("requirements.capabilities", f"no worker of pool {pool.name} can do {capability!r}")
        for capability in sorted(needs.capabilities - pool.capabilities - offered)
    ]
    if needs.cpu > pool.cpu:
        lacking.append(Problem("requirements.cpu", f"pool {pool.name} has at most {pool.cpu:g} for one run"))
    if needs.memory_mb > pool.memory_mb:
        lacking.append(Problem("requirements.memory_mb", f"pool {pool.name} has at most {pool.memory_mb} for one run"))
    if needs.seconds > pool.longest_seconds:
        lacking.append(Problem("timeout_seconds", f"pool {pool.name} runs at most {pool.longest_seconds} s at a time"))
    return lacking


def needs_of(target: Target, requirements: Requirements, timeout_seconds: int) -> Needs:
    """What chooses the pool."""
    capabilities = frozenset({type_of(target), *requirements.capabilities})
    return Needs(capabilities, requirements.cpu, requirements.memory_mb, timeout_seconds)


def worker_needs(target: Target, requirements: Requirements, timeout_seconds: int) -> Needs:
    """What one worker of the pool must have: also the very handler, which its app may lack."""
    needs = needs_of(target, requirements, timeout_seconds)
    if not isinstance(target, PythonTarget):
        return needs
    return Needs(needs.capabilities | {f"python:{target.handler}"}, needs.cpu, needs.memory_mb, needs.seconds)


def pools_to_json(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    return [{**asdict(pool), "kind": pool.kind.value, "capabilities": sorted(pool.capabilities)} for pool in pools]


def pools_from_json(stored: Sequence[Mapping[str, Any]]) -> Pools:
    """Raises KeyError, TypeError or ValueError for what is no pool."""
    return Pools(
        tuple(
            Pool(**{**fields, "kind": PoolKind(fields["kind"]), "capabilities": frozenset(fields["capabilities"])})
            for fields in stored
        )
    )
