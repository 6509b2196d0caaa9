"""Event jobs and events for scenarios, and what must be true of their runs."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.ports import Answer, Call, Deadline
from onthedot.core.records import Definition, Record
from onthedot.core.schema import DEFAULT_POOL
from onthedot.events.handle import Event, Handled, handle_event
from onthedot.jobs.change import change_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.simulation import NEVER, RecordingTarget, Simulation

ORDERS = {"source": ["shop"], "detail-type": ["Order Paid"]}
MANY_KEYS = {"source": ["shop", "bank"], "detail-type": ["Order Paid", "Order Sent"]}


@dataclass
class ReadingTarget(RecordingTarget):
    """Remembers what each run was given."""

    payloads: dict[str, Any] = field(default_factory=dict)

    def perform(self, call: Call) -> Answer:
        self.payloads[call.run_id] = json.loads(call.payload)
        return super().perform(call)


class Eventful(Simulation):
    """A simulation into which events come."""

    target: ReadingTarget

    def __init__(self, world: World, answers: list[Any] | None = None) -> None:
        super().__init__(world, answers)
        self.target = ReadingTarget(world, answers or [])

    def waiting_job(
        self,
        pattern: Any = ORDERS,
        *,
        payload: Any = None,
        priority: Priority = Priority.MEDIUM,
        key: str | None = None,
        faults: Faults = NEVER,
        tenant: str = "acme",
    ) -> Record:
        request = JobRequest(
            definition=Definition(HttpTarget("http://x/"), payload=payload, retry=RetryPolicy(jitter=False)),
            fingerprint=json.dumps(pattern),
            priority=priority,
            pool=DEFAULT_POOL,
            pattern=json.dumps(pattern),
            idempotency_key=key,
        )
        return submit_job(self.engine(faults), tenant, request)

    def tell(self, event: Event, *, faults: Faults = NEVER, tenant: str = "acme") -> Handled:
        return handle_event(self.engine(faults), tenant, event, Deadline.after(self.clock.now(), 20_000))

    def change_pattern(self, job: Record, pattern: Any, faults: Faults = NEVER) -> Record:
        wanted = JobChange(pattern=json.dumps(pattern))
        return change_job(self.engine(faults), "acme", job.job_id, lambda _, __: wanted, None)

    def runs_of(self, job: Record) -> list[Record]:
        return list(self.world.store.runs_of(job.job_id, 1000).items)

    def fired(self, job: Record) -> list[str]:
        """The runs of the job for which the target was called, once for each call."""
        return [run_id for run_id, _, _ in self.target.calls if run_id.startswith(f"{job.job_id}.")]

    def entries(self) -> list[tuple[str, str]]:
        """Everything that stands in the index: job and name, once for each key."""
        with self.world.database.transaction() as connection:
            rows = connection.execute("SELECT sort FROM items WHERE partition LIKE 'pattern#%'").fetchall()
        return [(job_id, name) for row in rows for job_id, _, name in [row["sort"].partition("#")]]


def an_event(event_id: str = "e-1", what: str = "Order Paid") -> Event:
    document = {
        "id": event_id,
        "source": "shop",
        "detail-type": what,
        "time": "2026-03-01T11:59:59Z",
        "resources": [],
        "detail": {"order": {"number": 7, "lines": [{"sku": "a"}, {"sku": "b"}]}},
    }
    return Event(event_id, NOON - 1_000, document)


def with_detail(event: Event, detail: Any) -> Event:
    return replace(event, document={**event.document, "detail": detail})
