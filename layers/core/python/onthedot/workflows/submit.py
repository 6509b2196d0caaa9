"""Submit a workflow: check the whole graph, then store one record, whose run makes the graph when it is due."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core.choices import Requirements, RetryPolicy
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.find_pool import smallest_pool
from onthedot.core.records import Definition, Record
from onthedot.engine import Engine
from onthedot.gates.manage import GateCheck
from onthedot.jobs.contents import store_payload
from onthedot.jobs.place_job import refuse_forbidden
from onthedot.jobs.submit import JobRequest, check_times, submit_job, submit_or_repeat
from onthedot.schedules.schedule import fire_time_problems
from onthedot.targets.types import WorkflowTarget, type_of
from onthedot.workflows.members import Member, Workflow

MAKING: Final = RetryPolicy(max_retries=6, backoff_seconds=2, max_backoff_seconds=60)
"""Retries of the run that makes the graph. It fails only when the store does."""
UPLOADS: Final = 16


@dataclass(slots=True)
class _PoolChooser:
    """It chooses pools for the jobs of a graph, once for all jobs with the same needs."""

    engine: Engine
    tenant: str
    known: dict[tuple[str, Requirements, int], str | InvalidRequest] = field(default_factory=dict)

    def pool(self, definition: Definition) -> str:
        refuse_forbidden(self.engine.deployment.allow_list, definition.target)
        needs = (type_of(definition.target), definition.requirements, definition.timeout_seconds)
        if needs not in self.known:
            try:
                self.known[needs] = smallest_pool(self.engine, self.tenant, definition)
            except InvalidRequest as error:
                self.known[needs] = error
        found = self.known[needs]
        if isinstance(found, InvalidRequest):
            raise found
        return found


def accept_workflow(engine: Engine, tenant: str, request: JobRequest, members: Sequence[Member], now: int) -> Record:
    """Check the times, submit the workflow, and answer a repeated request like the first one.

    Raise what `submit_workflow` raises, and InvalidRequest for a time outside of the window.
    """

    def submit() -> Record:
        check_times(request, now)
        _check_times_of(members, now)
        return submit_workflow(engine, tenant, request, members)

    return submit_or_repeat(engine, tenant, request, submit)


def _check_times_of(members: Sequence[Member], now: int) -> None:
    found = [fire_time_problems(f"jobs.{number}.at", member.at, now) for number, member in enumerate(members)]
    problems = [problem for of_member in found for problem in of_member]
    if problems:
        raise InvalidRequest(*problems)


def submit_workflow(engine: Engine, tenant: str, request: JobRequest, members: Sequence[Member]) -> Record:
    """Return the stored job: new, or made by an earlier request with the same key and body.

    `request` has all but the payload, which is the graph of the members. InvalidRequest names a member's field, such as
    `jobs.3.target.function`, when it cannot run here.
    """
    routed = _with_pools(engine, tenant, members)
    with ThreadPoolExecutor(UPLOADS) as uploads:
        stored = list(uploads.map(lambda member: _with_stored_payload(engine, tenant, member), routed))
    definition = replace(
        request.definition, target=WorkflowTarget(), payload=Workflow(tuple(stored)).to_payload(), retry=MAKING
    )
    return submit_job(engine, tenant, replace(request, definition=definition))


def _with_pools(engine: Engine, tenant: str, members: Sequence[Member]) -> list[Member]:
    chooser = _PoolChooser(engine, tenant)
    gates = GateCheck(engine, tenant)
    routed: list[Member] = []
    problems: list[Problem] = []
    for number, member in enumerate(members):
        try:
            gates.check(member.gates)
            routed.append(replace(member, pool=chooser.pool(member.definition)))
        except InvalidRequest as error:
            problems += [Problem(f"jobs.{number}.{one.field}", one.message) for one in error.problems]
    if problems:
        raise InvalidRequest(*problems)
    return routed


def _with_stored_payload(engine: Engine, tenant: str, member: Member) -> Member:
    """Store a large payload once, for all graphs that the workflow makes. Jobs of any of them may need it later."""
    return replace(member, definition=store_payload(engine.blobs, tenant, member.definition))
