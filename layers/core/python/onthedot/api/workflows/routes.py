"""Workflows: submitted whole, and shown with the states of their jobs."""

from typing import Final

from onthedot.api.core.route import RequestContext, Route
from onthedot.api.jobs.requests import IDEMPOTENCY_HEADER
from onthedot.api.workflows import show as present_workflows
from onthedot.api.workflows.fields import WorkflowFields, read_workflow_request
from onthedot.api.workflows.show import AcceptedWorkflowView, WorkflowView
from onthedot.domain.ids import node_job_id
from onthedot.domain.runs.records import Kind
from onthedot.use_cases.jobs.list_runs import next_fire_of
from onthedot.use_cases.workflows.read_workflow import read_workflow
from onthedot.use_cases.workflows.submit_workflow import accept_workflow


def submit_graph(context: RequestContext) -> AcceptedWorkflowView:
    now = context.engine.clock.now()
    request, members = read_workflow_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    job = accept_workflow(context.engine, context.tenant, request, members, now)
    once = job.kind is not Kind.RECURRING
    ids = [(member.key, node_job_id(job.run_id, member.key) if once else None) for member in members]
    return present_workflows.accepted_workflow_view(job, next_fire_of(context.engine, job), ids)


def show_workflow(context: RequestContext) -> WorkflowView:
    state = read_workflow(context.engine, context.tenant, context.id)
    now = context.engine.clock.now()
    return present_workflows.workflow_view(context.id, state, now, next_fire_of(context.engine, state.job))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workflows",
        submit_graph,
        "Schedule jobs that wait for each other, all or none of them",
        AcceptedWorkflowView,
        status=202,
        body=WorkflowFields,
        headers=(IDEMPOTENCY_HEADER,),
        errors=(400, 409, 413, 422),
    ),
    Route("GET", "/v1/workflows/{id}", show_workflow, "A workflow's graph and its states", WorkflowView, errors=(404,)),
)
