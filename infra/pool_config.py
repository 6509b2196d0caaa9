"""The pools of a stage: those that every stage has, and what the context value `pools` adds to them or changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from context_fields import REQUIRED, Fields, listed
from onthedot.domain.targets import types as targets
from onthedot.domain.workers.pools import DEFAULT_POOLS, LONGEST_PULL, Pool, PoolKind

NAME_PATTERN: Final = r"[a-z][a-z0-9-]{0,19}"
CAPABILITY_PATTERN: Final = r"[a-z0-9][a-zA-Z0-9._:-]{0,63}"
SHELL: Final = "shell"
PYTHON: Final = "python"
AWS_CALLS: Final = frozenset({"lambda", "aws"})
"""What is done in AWS's name; a task that runs other people's programs has no name there."""
TYPES: Final = frozenset(targets.TYPES)
# What the worker itself takes of its task.
WORKER_MEMORY_MB: Final = 128
_POOL_FIELDS: Final = ("name", "capabilities", "cpu", "memory_mb", "longest_seconds", "fargate")
_FARGATE_FIELDS: Final = ("cpu", "memory_mb", "max_tasks", "slots", "shell", "app", "image")
# What Fargate offers: CPU units -> the least and the most memory in MiB, and the step between.
_MEMORY: Final = {
    256: (512, 2048, 512),
    512: (1024, 4096, 1024),
    1024: (2048, 8192, 1024),
    2048: (4096, 16_384, 1024),
    4096: (8192, 30_720, 1024),
    8192: (16_384, 61_440, 4096),
    16_384: (32_768, 122_880, 8192),
}
MOST_TASKS: Final = 1000
DEFAULT_TASKS: Final = 10
DEFAULT_SLOTS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fargate:
    """The size and the number of a pool's tasks."""

    cpu: int
    """In units: 1024 are one virtual CPU."""
    memory_mb: int
    max_tasks: int = DEFAULT_TASKS
    slots: int = DEFAULT_SLOTS
    """Runs that a task does at the same time."""
    shell: bool = False
    """Whether they run programs of whoever submits jobs: then they get a token, and no role that could do anything."""
    app: str | None = None
    """The module whose `@job` handlers they run."""
    image: Path | None = None
    """A directory with a Dockerfile that adds the app, or programs, to our image; without, it is ours as it is."""

    @property
    def free_memory_mb(self) -> int:
        """What a task has for its runs."""
        return self.memory_mb - WORKER_MEMORY_MB


@dataclass(frozen=True, slots=True)
class StagePool:
    """A pool, and where its workers come from if that is for us to say."""

    pool: Pool
    fargate: Fargate | None = None


DEFAULT_STAGE_POOLS: Final = tuple(StagePool(pool) for pool in DEFAULT_POOLS)


def read_pools(key: str, value: Any) -> tuple[StagePool, ...]:
    """The default pools with what is changed or added; raises `BadContext` with the field that is wrong."""
    pools = {known.pool.name: known for known in DEFAULT_STAGE_POOLS}
    given: set[str] = set()
    for entry in listed(key, value):
        fields = Fields(key, entry, _POOL_FIELDS)
        name = fields.text("name", NAME_PATTERN)
        if name in given:
            fields.refuse("name", "is there twice")
        given.add(name)
        pools[name] = _stage_pool(key, fields, pools.get(name))
    return tuple(pools.values())


def _stage_pool(key: str, fields: Fields, before: StagePool | None) -> StagePool:
    if before is not None and before.pool.kind is PoolKind.PUSH:
        fields.refuse("name", "is that of a pool on Lambda, whose shape is fixed; only pull pools can be given")
    pool = _pool(fields, before.pool if before else None)
    if not fields.has("fargate"):
        return StagePool(pool)
    fargate = _fargate(Fields(key, fields.raw("fargate"), _FARGATE_FIELDS, "fargate."))
    _check_together(fields, pool, fargate)
    return StagePool(pool, fargate)


def _pool(fields: Fields, before: Pool | None) -> Pool:
    def known(name: str) -> Any:
        return REQUIRED if before is None else getattr(before, name)

    return Pool(
        fields.text("name", NAME_PATTERN),
        PoolKind.PULL,
        frozenset(fields.texts("capabilities", CAPABILITY_PATTERN, known("capabilities"))),
        cpu=fields.number("cpu", 0.1, 192, known("cpu")),
        memory_mb=fields.whole("memory_mb", 16, 2_000_000, known("memory_mb")),
        longest_seconds=fields.whole("longest_seconds", 1, LONGEST_PULL, LONGEST_PULL),
    )


def _fargate(fields: Fields) -> Fargate:
    cpu = fields.whole("cpu", min(_MEMORY), max(_MEMORY))
    if cpu not in _MEMORY:
        fields.refuse("cpu", f"must be one of {', '.join(map(str, _MEMORY))}")
    least, most, step = _MEMORY[cpu]
    memory_mb = fields.whole("memory_mb", least, most)
    # Of the smallest CPU, Fargate offers 512 beside whole GiB.
    if memory_mb % step or (cpu == 256 and memory_mb == 1536):
        fields.refuse("memory_mb", f"must be a multiple of {step} that Fargate offers with {cpu} CPU units")
    return Fargate(
        cpu=cpu,
        memory_mb=memory_mb,
        max_tasks=fields.whole("max_tasks", 1, MOST_TASKS, DEFAULT_TASKS),
        slots=fields.whole("slots", 1, 1000, DEFAULT_SLOTS),
        shell=fields.flag("shell", default=False),
        app=fields.text("app", r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*") if fields.has("app") else None,
        image=_image(fields) if fields.has("image") else None,
    )


def _image(fields: Fields) -> Path:
    path = Path(fields.text("image", r"[^\0]+")).absolute()
    if not (path / "Dockerfile").is_file():
        fields.refuse("image", "must be a directory with a Dockerfile")
    return path


def _check_together(fields: Fields, pool: Pool, fargate: Fargate) -> None:
    """A pool must not promise what its tasks cannot give, and no task may have both a shell and a role."""
    if pool.cpu > fargate.cpu / 1024:
        fields.refuse("cpu", f"is {pool.cpu:g}, more than the {fargate.cpu / 1024:g} of a task")
    if pool.memory_mb > fargate.free_memory_mb:
        why = f"is {pool.memory_mb}, more than the {fargate.free_memory_mb} that a task has for its runs"
        fields.refuse("memory_mb", why)
    if fargate.shell != (SHELL in pool.capabilities):
        fields.refuse("capabilities", "has shell if, and only if, fargate.shell is true")
    if (fargate.app is None) == (PYTHON in pool.capabilities):
        fields.refuse("capabilities", "has python if, and only if, fargate.app names the module of its handlers")
    if fargate.shell and (impossible := sorted(pool.capabilities & AWS_CALLS)):
        fields.refuse("capabilities", f"has {impossible[0]}, for which a pool with a shell has no role")
