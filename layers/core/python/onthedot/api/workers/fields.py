"""What pull workers send: who they are, how they do, what they want, and what became of their runs."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field

from onthedot.api.core.fields import Fields, Text, printable
from onthedot.api.core.times import milliseconds
from onthedot.api.jobs.fields import PRIORITY_NAMES, PriorityName
from onthedot.api.targets.fields import Capability
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.workers.records import Load, Resources
from onthedot.ports import Answer
from onthedot.schema import DEFAULT_POOL
from onthedot.use_cases.workers.receipts import SealedReceipt

MAX_CAPABILITIES: Final = 200
MAX_RUNNING: Final = 1_000
MAX_LEASES: Final = 10
MAX_ERROR: Final = 10_000
MAX_RECEIPT: Final = 4_096
PULL_POOL: Final = "pull"
_WORKER_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_RUN_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_SAID: Final = {
    "FAILED": "the worker says that it failed, and not why",
    "LOST": "the worker says that the run took its process with it",
    "RELEASED": "the worker gave it back",
}
"""What is recorded of a report without an error."""


def _worker_id(text: str) -> str:
    if not _WORKER_ID.fullmatch(text):
        raise ValueError("is not a worker's id; give 1 to 80 letters, digits or any of _ . : -")
    return text


def _run_id(text: str) -> str:
    if not _RUN_ID.fullmatch(text):
        raise ValueError("is not an execution's id; give it as the API shows it")
    return text


def _pull_pool(name: str) -> str:
    """`default` is the default here too: of the pools that workers may join."""
    return PULL_POOL if name == DEFAULT_POOL else name


def _listed(text: Any) -> Any:
    """In a query several are one text, with commas in between."""
    return [part for part in text.split(",") if part] if isinstance(text, str) else text


WorkerId = Annotated[str, AfterValidator(_worker_id)]
RunId = Annotated[str, AfterValidator(_run_id)]
Capabilities = Annotated[list[Capability], Field(max_length=MAX_CAPABILITIES)]
Cpu = Annotated[float, Field(ge=0, le=10_000)]
MemoryMb = Annotated[int, Field(ge=0, le=100_000_000)]
Attempt = Annotated[int, Field(ge=1, le=2**31)]
Receipt = Annotated[str, Field(max_length=MAX_RECEIPT), AfterValidator(printable)]


_CONCURRENCY = AliasChoices("concurrency", "slots")


class ResourcesFields(Fields):
    """The resources that a worker shares among its runs. `slots` is the former name of `concurrency`."""

    concurrency: Annotated[int, Field(ge=1, le=1_000, validation_alias=_CONCURRENCY)] = 1
    cpu: Cpu = 1
    memory_mb: MemoryMb = 512

    def resources(self) -> Resources:
        return Resources(self.concurrency, self.cpu, self.memory_mb)


class UsedFields(Fields):
    """The resources that a worker's runs use now."""

    concurrency: Annotated[int, Field(ge=0, le=1_000, validation_alias=_CONCURRENCY)] = 0
    cpu: Cpu = 0
    memory_mb: MemoryMb = 0

    def resources(self) -> Resources:
        return Resources(self.concurrency, self.cpu, self.memory_mb)


class FreeFields(Fields):
    """Differences of what a worker has and uses: rounding may leave them a little below zero."""

    cpu: Annotated[float, Field(ge=-10_000, le=10_000)] | None = None
    memory_mb: Annotated[int, Field(ge=-100_000_000, le=100_000_000)] | None = None


class RegisterFields(Fields):
    """A worker that is known already is registered anew: what it said before is forgotten."""

    pool: Annotated[Text, AfterValidator(_pull_pool)] = PULL_POOL
    capabilities: Capabilities = Field(default_factory=list)
    resources: ResourcesFields = ResourcesFields()
    worker_id: Annotated[WorkerId | None, Field(description="one of its own; else it is given one")] = None
    host: Annotated[Text, AfterValidator(printable)] = ""


class BeatFields(Fields):
    running: Annotated[list[RunId], Field(max_length=MAX_RUNNING)] = Field(default_factory=list)
    used: UsedFields = UsedFields()
    stopping: Annotated[bool, Field(description="it finishes what it has and takes nothing more")] = False
    stopped: bool = False

    def load(self) -> Load:
        return Load(tuple(self.running), self.used.resources(), self.stopping, self.stopped)


class LeaseFields(Fields):
    max: Annotated[int, Field(ge=1, le=MAX_LEASES)] = 1
    priorities: Annotated[list[PriorityName], Field(min_length=1, max_length=3, description="in the order to look")] = (
        Field(default_factory=lambda: [*PRIORITY_NAMES])
    )
    free: Annotated[FreeFields | None, Field(description="what is left for more runs; all, unless told")] = None
    idle: Annotated[bool, Field(description="nothing else runs on this worker now")] = True


class WorkersQuery(Fields):
    status: Literal["ACTIVE", "DRAINING", "LOST", "STOPPED"] | None = None
    capabilities: Annotated[
        list[str],
        BeforeValidator(_listed),
        Field(json_schema_extra={"type": "string", "description": "all of these, with commas in between"}),
    ] = Field(default_factory=list)


class ReportFields(Fields):
    """Null is the same as leaving a field out: a worker sends what it has."""

    model_config = ConfigDict(json_schema_extra=None)

    worker_id: WorkerId | None = None
    receipt: Annotated[Receipt | None, Field(description="of the lease")] = None

    @property
    def sealed_receipt(self) -> SealedReceipt | None:
        return None if self.receipt is None else SealedReceipt(self.receipt)


class KeepFields(ReportFields):
    attempt: Attempt | None = None


class CompleteFields(ReportFields):
    """LOST: the run took its process with it. RELEASED: the worker had to end before the run did."""

    status: Literal["SUCCEEDED", "FAILED", "LOST", "RELEASED"]
    attempt: Attempt
    result: Annotated[Any, Field(description="any JSON up to 1 MiB, of a run that succeeded")] = None
    error: Annotated[str | None, Field(max_length=MAX_ERROR)] = None
    error_class: Annotated[Text | None, Field(description="what kind of error, as a short stable word")] = None
    retryable: bool | None = None
    retry_after_seconds: Annotated[float | None, Field(ge=0, le=MAX_AHEAD_MS // 1000)] = None

    def answer(self, result: str | None) -> Answer:
        """`result`: the result as text."""
        after = self.retry_after_seconds
        return Answer(
            ok=self.status == "SUCCEEDED",
            result=result,
            error=self.error or _SAID.get(self.status),
            error_class=self.error_class,
            retryable=self.retryable is not False,
            retry_after_ms=None if after is None else milliseconds(after),
            lost=self.status == "LOST",
            handed_back=self.status == "RELEASED",
        )


class ExecuteFields(Fields):
    worker_id: WorkerId
