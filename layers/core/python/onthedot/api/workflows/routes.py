"""Routes of workflows: submit one, and show one with the statuses of its jobs."""

from dataclasses import replace
from typing import Final

from onthedot.api.core.route import RequestContext, Route
from onthedot.api.jobs.requests import IDEMPOTENCY_HEADER
from onthedot.api.workflows import show
from onthedot.api.workflows.fields import WorkflowFields
from onthedot.api.workflows.requests import read_workflow_request
from onthedot.api.workflows.views import AcceptedWorkflowView, WorkflowView
from onthedot.use_cases.jobs.list_runs import next_fire_of
from onthedot.use_cases.workflows.read_workflow import read_workflow
from onthedot.use_cases.workflows.submit_workflow import accept_workflow


def submit_graph(context: RequestContext) -> AcceptedWorkflowView:
    """Submit a workflow: all of its jobs, or none."""
    now = context.engine.clock.now()
    read, members = read_workflow_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    request = replace(read, trace=context.request.trace, by=context.caller)
    job = accept_workflow(context.engine, context.tenant, request, members, now)
    return show.accepted_workflow_view(job, next_fire_of(context.engine, job), members)


def show_workflow(context: RequestContext) -> WorkflowView:
    """Answer a workflow with the statuses of its jobs."""
    state = read_workflow(context.engine, context.tenant, context.id)
    now = context.engine.clock.now()
    return show.workflow_view(context.id, state, now, next_fire_of(context.engine, state.job))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workflows",
        submit_graph,
        "Schedule jobs that wait for each other, all of them or none",
        AcceptedWorkflowView,
        status=202,
        body=WorkflowFields,
        headers=(IDEMPOTENCY_HEADER,),
        errors=(400, 409, 413, 422),
    ),
    Route(
        "GET",
        "/v1/workflows/{id}",
        show_workflow,
        "Get a workflow's graph and the states of its jobs",
        WorkflowView,
        errors=(404,),
    ),
)
