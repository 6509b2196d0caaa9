"""The context value `pools`: pull pools that a stage adds to the default pools, or changes."""

from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, AliasChoices, Field, StrictBool, field_validator, model_validator

from context_values import ContextModel
from onthedot.core.choices import LONGEST_PULL
from onthedot.core.pools import DEFAULT_POOLS, PULL_STORAGE_MB, Pool, PoolKind
from onthedot.targets import types as targets

SHELL: Final = "shell"
PYTHON: Final = "python"
AWS_CALLS: Final = frozenset({"lambda", "aws"})
"""The capabilities that need a role. A task that runs the programs of other people has no role."""
TYPES: Final = frozenset(targets.TYPES)
# The memory that the worker itself needs in its task.
WORKER_MEMORY_MB: Final = 128
# The disk that each task of Fargate has. The image is on it too.
TASK_STORAGE_MB: Final = 20 * 1024
# The sizes of Fargate: CPU units -> the least and the most memory in MiB, and the step between.
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
[_PULL] = [pool for pool in DEFAULT_POOLS if pool.kind is PoolKind.PULL]

Capability = Annotated[str, Field(pattern=r"^[a-z0-9][a-zA-Z0-9._:-]{0,63}$")]


class Fargate(ContextModel):
    """The size and the number of the tasks of a pool."""

    cpu: int = Field(strict=True)
    """The CPU of a task in units: 1024 are one virtual CPU."""
    memory_mb: int = Field(strict=True)
    """In MiB, as Fargate offers it for the CPU units. 128 MiB are for the worker itself."""
    max_tasks: int = Field(default=10, strict=True, ge=1, le=MOST_TASKS)
    """The most tasks at a time."""
    concurrency: int = Field(
        default=4, strict=True, ge=1, le=1000, validation_alias=AliasChoices("concurrency", "slots")
    )
    """The runs that a task executes side by side."""
    shell: StrictBool = False
    """Whether the tasks run programs of users who submit jobs. Then they get a token, and a role without grants."""
    app: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")
    """The module whose `@job` handlers the tasks run."""
    image: Path | None = None
    """A directory with a Dockerfile that adds the app, or programs, to our image. Without it, tasks run our image."""

    @field_validator("cpu")
    @classmethod
    def _offered(cls, cpu: int) -> int:
        if cpu not in _MEMORY:
            raise ValueError(f"must be one of {', '.join(map(str, _MEMORY))}")
        return cpu

    @field_validator("image")
    @classmethod
    def _with_dockerfile(cls, image: Path | None) -> Path | None:
        if image is not None and not (image / "Dockerfile").is_file():
            raise ValueError("must be a directory with a Dockerfile")
        return image and image.absolute()

    @model_validator(mode="after")
    def _memory_of_cpu(self) -> Self:
        least, most, step = _MEMORY[self.cpu]
        if not least <= self.memory_mb <= most:
            raise ValueError(f"memory_mb must be from {least} to {most} with {self.cpu} CPU units")
        # With the smallest CPU, Fargate offers 512 and whole GiB.
        if self.memory_mb % step or (self.cpu == 256 and self.memory_mb == 1536):
            raise ValueError(f"memory_mb must be a multiple of {step} that Fargate offers with {self.cpu} CPU units")
        return self

    @property
    def free_memory_mb(self) -> int:
        """The memory that a task has for its runs."""
        return self.memory_mb - WORKER_MEMORY_MB


class StagePool(ContextModel):
    """One entry of `pools`: a pull pool, and its tasks on Fargate if onthedot starts its workers."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,19}$")
    """The name of the pool."""
    capabilities: frozenset[Capability] = Field(min_length=1)
    """The types of targets that its workers perform, and names of your own."""
    cpu: float = Field(strict=True, ge=0.1, le=192)
    """The most CPUs that one run may ask for."""
    memory_mb: int = Field(strict=True, ge=16, le=2_000_000)
    """The most MiB that one run may ask for."""
    storage_mb: int | None = Field(default=None, strict=True, ge=0, le=100_000_000)
    """The most that one run may ask for. None: as much as a task of Fargate has, or 1,000,000 without tasks."""
    longest_seconds: int = Field(default=LONGEST_PULL, strict=True, ge=1, le=LONGEST_PULL)
    """The longest attempt."""
    fargate: Fargate | None = None
    """The tasks of its workers. Without it, the operator starts the workers."""
    min_workers: int = Field(default=0, strict=True, ge=0, le=MOST_TASKS)
    """The live workers below which the alarm `workers` goes off."""

    @model_validator(mode="before")
    @classmethod
    def _changed(cls, value: Any) -> Any:
        """Take the fields that are not given from the default pool of that name."""
        if not isinstance(value, dict) or value.get("name") != _PULL.name:
            return value
        return {"capabilities": _PULL.capabilities, "cpu": _PULL.cpu, "memory_mb": _PULL.memory_mb, **value}

    @field_validator("name")
    @classmethod
    def _pull_only(cls, name: str) -> str:
        if name in [pool.name for pool in DEFAULT_POOLS if pool.kind is PoolKind.PUSH]:
            raise ValueError("runs on Lambda and cannot be changed; only pull pools can be configured")
        return name

    @model_validator(mode="after")
    def _fits_its_tasks(self) -> Self:
        """Refuse a pool that promises more than its tasks have, and a task with both a shell and a role."""
        if self.fargate is not None:
            for problem in _problems(self, self.fargate):
                raise ValueError(problem)
        return self

    @property
    def pool(self) -> Pool:
        return Pool(
            self.name,
            PoolKind.PULL,
            self.capabilities,
            cpu=self.cpu,
            memory_mb=self.memory_mb,
            longest_seconds=self.longest_seconds,
            storage_mb=self._storage_mb,
        )

    @property
    def _storage_mb(self) -> int:
        if self.storage_mb is not None:
            return self.storage_mb
        return PULL_STORAGE_MB if self.fargate is None else TASK_STORAGE_MB


def _problems(pool: StagePool, task: Fargate) -> list[str]:
    without_role = sorted(pool.capabilities & AWS_CALLS) if task.shell else []
    rules = {
        f"cpu is {pool.cpu:g}, more than the {task.cpu / 1024:g} of a task": pool.cpu > task.cpu / 1024,
        f"memory_mb is {pool.memory_mb}, more than the {task.free_memory_mb} that a task has for its runs": (
            pool.memory_mb > task.free_memory_mb
        ),
        f"storage_mb is {pool.storage_mb}, more than the {TASK_STORAGE_MB} of a task": (
            (pool.storage_mb or 0) > TASK_STORAGE_MB
        ),
        "capabilities has shell if, and only if, fargate.shell is true": task.shell != (SHELL in pool.capabilities),
        "capabilities has python if, and only if, fargate.app names the module of its handlers": (
            (task.app is None) == (PYTHON in pool.capabilities)
        ),
        f"capabilities has {without_role}, for which a pool with a shell has no role": bool(without_role),
    }
    return [problem for problem, is_there in rules.items() if is_there]


def _different_names(pools: tuple[StagePool, ...]) -> tuple[StagePool, ...]:
    if len({pool.name for pool in pools}) != len(pools):
        raise ValueError("name is used twice")
    return pools


StagePools = Annotated[tuple[StagePool, ...], AfterValidator(_different_names)]


def with_default_pools(pools: tuple[StagePool, ...]) -> tuple[Pool, ...]:
    """Return the default pools, changed where a pool has the same name, and the added pools."""
    return tuple(({pool.name: pool for pool in DEFAULT_POOLS} | {pool.name: pool.pool for pool in pools}).values())
