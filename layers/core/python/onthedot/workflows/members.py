"""Store the jobs of a workflow as its payload, and make the records of a graph from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from onthedot.core import codec
from onthedot.core.choices import OnParentFailure, Priority
from onthedot.core.errors import PayloadGone, Unreadable, UnreadableRecord
from onthedot.core.ids import fresh_generation, node_job_id
from onthedot.core.lifecycle import cut
from onthedot.core.listing import listed_under
from onthedot.core.payloads import load_payload
from onthedot.core.records import Definition, Record, Status
from onthedot.core.start_window import last_start
from onthedot.core.traces import trace_of
from onthedot.engine import Engine
from onthedot.jobs.place_job import place_run
from onthedot.jobs.spec import BY_NAME, Stored, of_new, stored_in
from onthedot.workflows.graph import Graph, Node

_RECORDED: Final = stored_in(Stored.RECORD)


@dataclass(frozen=True, slots=True)
class Member:
    """A job of a workflow as the client defined it. Its record is made when the workflow's run makes the graph."""

    key: str
    """Its name within the workflow."""
    depends_on: tuple[str, ...]
    """Keys of the jobs that it waits for."""
    definition: Definition
    priority: Priority = Priority.MEDIUM
    pool: str | None = None
    at: int | None = None
    delay_ms: int | None = None
    """The delay from the moment when the graph is made."""
    on_parent_failure: OnParentFailure = OnParentFailure.FAIL
    record: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the request that the record has under the same names (`Stored.RECORD`)."""

    @property
    def gates(self) -> Sequence[str]:
        named: Sequence[str] = self.record.get("gates", ())
        return named


@dataclass(frozen=True)
class Workflow:
    members: tuple[Member, ...]

    @cached_property
    def graph(self) -> Graph:
        return Graph(tuple(Node(member.key, member.depends_on) for member in self.members))

    def to_payload(self) -> dict[str, Any]:
        return {"jobs": [_stored(member) for member in self.members]}


def from_payload(content: bytes) -> Workflow:
    """Return the workflow of a payload. Raise ValueError, KeyError or TypeError when it is not one."""
    return Workflow(tuple(_member(stored) for stored in json.loads(content)["jobs"]))


def graph_of(engine: Engine, job: Record, definition: Definition) -> Workflow:
    """Return the workflow that a job defines. Raise Unavailable, and UnreadableRecord when it cannot be read."""
    try:
        content = load_payload(engine.blobs, definition)
    except PayloadGone as error:
        raise UnreadableRecord(Unreadable(job.run_id, f"its graph is gone: {error}", job.tenant)) from error
    try:
        return from_payload(content)
    except Exception as error:  # a damaged graph, or one from a newer version, can raise anything
        why = f"its graph cannot be read: {type(error).__name__}: {error}"
        raise UnreadableRecord(Unreadable(job.run_id, cut(why), job.tenant)) from error


def ids_of(workflow: Workflow, run_id: str) -> dict[str, str]:
    return {member.key: node_job_id(run_id, member.key) for member in workflow.members}


def records_of(engine: Engine, workflow: Workflow, run: Record, keys: Sequence[str]) -> list[Record]:
    """Return new records of the jobs with these keys. A job without parents is placed like any new job."""
    members = {member.key: member for member in workflow.members}
    ids = ids_of(workflow, run.run_id)
    now = engine.clock.now()
    return [_record(engine, workflow, run, members[key], ids=ids, now=now) for key in keys]


def _record(
    engine: Engine, workflow: Workflow, run: Record, member: Member, *, ids: dict[str, str], now: int
) -> Record:
    job_id, pool = ids[member.key], member.pool or run.pool
    due_at = member.at if member.at is not None else now + (member.delay_ms or 0)
    record = Record(
        run_id=job_id,
        job_id=job_id,
        tenant=run.tenant,
        definition=member.definition,
        priority=member.priority,
        pool=pool,
        created_at=now,
        fire_time=due_at,
        due_at=due_at,
        status=Status.WAITING,
        generation=fresh_generation(),
        version=1,
        workflow=run.run_id,
        key=member.key,
        children=frozenset(ids[key] for key in workflow.graph.children_of(member.key)),
        listed_under=listed_under(run.tenant, job_id),
        **of_new(member.record, Stored.RECORD),
        trace=trace_of(run.run_id, run.trace),
    )
    if member.depends_on:
        parents = tuple(ids[key] for key in member.depends_on)
        policy = member.on_parent_failure
        asked = None if policy is OnParentFailure.FAIL else policy.value
        return replace(record, parents=parents, waits_for=frozenset(parents), on_parent_failure=asked)
    placed = place_run(engine, job_id, due_at, now, pool=pool, priority=member.priority)
    start_by = last_start(due_at, record.start_within_seconds)
    return replace(record, status=placed.status, slot=placed.slot, start_by=start_by)


def _stored(member: Member) -> dict[str, Any]:
    whole = {
        "key": member.key,
        "depends_on": list(member.depends_on),
        "definition": codec.encode_field("definition", member.definition),
        "priority": member.priority.value,
        "pool": member.pool,
        "at": member.at,
        "delay_ms": member.delay_ms,
        "on_parent_failure": member.on_parent_failure.value,
        **{name: BY_NAME[name].form.show(value) for name, value in member.record.items() if value != ()},
    }
    return {name: value for name, value in whole.items() if value is not None}


def _member(stored: dict[str, Any]) -> Member:
    return Member(
        key=stored["key"],
        depends_on=tuple(stored["depends_on"]),
        definition=codec.decode_field("definition", stored["definition"]),
        priority=Priority(stored["priority"]),
        pool=stored.get("pool"),
        at=stored.get("at"),
        delay_ms=stored.get("delay_ms"),
        on_parent_failure=OnParentFailure(stored["on_parent_failure"]),
        record={field.name: field.form.read(stored[field.name]) for field in _RECORDED if field.name in stored},
    )
