"""Models of the requests that pull workers send, and of the query that lists workers."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, model_validator

from onthedot.api.core.fields import PRIORITY_NAMES, Fields, PriorityName, RunId, Text, WorkerId, printable
from onthedot.api.targets.fields import Capability
from onthedot.domain.workers.records import Load, Resources
from onthedot.schema import DEFAULT_POOL
from onthedot.use_cases.workers.wait_for_runs import LONGEST_WAIT_SECONDS

MAX_CAPABILITIES: Final = 200
MAX_RUNNING: Final = 1_000
MAX_BEAT: Final = 320 * 1024
"""Most bytes of a heartbeat. The ids of two thousand runs fit."""
MAX_LEASES: Final = 10
PULL_POOL: Final = "pull"
MOST_MB: Final = 100_000_000
"""The most memory and storage that a worker can have."""


def _pull_pool(name: str) -> str:
    """Return the pool to join. `default` means the default of the pools that workers may join."""
    return PULL_POOL if name == DEFAULT_POOL else name


def _listed(text: Any) -> Any:
    """Return the entries of a query parameter, which separates them with commas."""
    return [part for part in text.split(",") if part] if isinstance(text, str) else text


Capabilities = Annotated[list[Capability], Field(max_length=MAX_CAPABILITIES)]
Cpu = Annotated[float, Field(ge=0, le=10_000)]
MegaBytes = Annotated[int, Field(ge=0, le=MOST_MB)]
FreeMegaBytes = Annotated[int, Field(ge=-MOST_MB, le=MOST_MB)]
_CONCURRENCY = AliasChoices("concurrency", "slots")


def _one_concurrency(document: Any) -> Any:
    """Return the document without `slots` where it repeats `concurrency`, as the API's own answers do."""
    if isinstance(document, dict) and "slots" in document and document["slots"] == document.get("concurrency"):
        return {name: value for name, value in document.items() if name != "slots"}
    return document


class ResourcesFields(Fields):
    """The resources that a worker shares among its runs. `slots` is the former name of `concurrency`."""

    _read_slots = model_validator(mode="before")(_one_concurrency)

    concurrency: Annotated[int, Field(ge=1, le=1_000, validation_alias=_CONCURRENCY)] = 1
    cpu: Cpu = 1
    memory_mb: MegaBytes = 512
    storage_mb: MegaBytes = 0

    def resources(self) -> Resources:
        return Resources(self.concurrency, self.cpu, self.memory_mb, self.storage_mb)


class UsedFields(Fields):
    """The resources that a worker's runs use now."""

    _read_slots = model_validator(mode="before")(_one_concurrency)

    concurrency: Annotated[int, Field(ge=0, le=1_000, validation_alias=_CONCURRENCY)] = 0
    cpu: Cpu = 0
    memory_mb: MegaBytes = 0
    storage_mb: MegaBytes = 0

    def resources(self) -> Resources:
        return Resources(self.concurrency, self.cpu, self.memory_mb, self.storage_mb)


class FreeFields(Fields):
    """The resources that a worker has left. Rounding may leave them a little below zero."""

    cpu: Annotated[float, Field(ge=-10_000, le=10_000)] | None = None
    memory_mb: FreeMegaBytes | None = None
    storage_mb: FreeMegaBytes | None = None


class RegisterFields(Fields):
    """A worker that joins a pull pool. Registering a known worker again replaces its former fields."""

    pool: Annotated[Text, AfterValidator(_pull_pool)] = PULL_POOL
    capabilities: Capabilities = Field(default_factory=list)
    resources: ResourcesFields = ResourcesFields()
    worker_id: Annotated[WorkerId | None, Field(description="an id of its own (a new id)")] = None
    host: Annotated[Text, AfterValidator(printable)] = ""


class BeatFields(Fields):
    """A heartbeat of a worker: it is alive, and this is its load."""

    running: Annotated[list[RunId], Field(max_length=MAX_RUNNING)] = Field(default_factory=list)
    used: UsedFields = UsedFields()
    stopping: Annotated[bool, Field(description="the worker finishes its runs and takes no more")] = False
    stopped: bool = False
    ended: Annotated[
        list[RunId], Field(max_length=MAX_RUNNING, description="executions that ended since the last heartbeat")
    ] = Field(default_factory=list)

    def load(self) -> Load:
        return Load(tuple(self.running), self.used.resources(), self.stopping, self.stopped, tuple(self.ended))


class LeaseFields(Fields):
    """A worker's request for runs."""

    max: Annotated[int, Field(ge=1, le=MAX_LEASES)] = 1
    priorities: Annotated[list[PriorityName], Field(min_length=1, max_length=3, description="in the order to look")] = (
        Field(default_factory=lambda: [*PRIORITY_NAMES])
    )
    free: Annotated[FreeFields | None, Field(description="resources left for more runs (all of the worker's)")] = None
    idle: Annotated[bool, Field(description="no other run is on this worker now")] = True
    wait_seconds: Annotated[
        float, Field(ge=0, le=LONGEST_WAIT_SECONDS, description="how long to wait for a first run, where the API waits")
    ] = 0


class WorkersQuery(Fields):
    """The query that chooses workers."""

    status: Literal["ACTIVE", "DRAINING", "LOST", "STOPPED"] | None = None
    capabilities: Annotated[
        list[str],
        BeforeValidator(_listed),
        Field(json_schema_extra={"type": "string", "description": "all of these, separated by commas"}),
    ] = Field(default_factory=list)
