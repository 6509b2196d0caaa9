"""The table of all commands: the module of each command, and its line in `onthedot --help`."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A command that is not loaded yet."""

    location: str
    """Its module in this package and its name there, such as `worker:worker`."""
    summary: str
    """The first sentence of its help text, without the full stop."""


SECTIONS: Final[Mapping[str, Mapping[str, Entry]]] = {
    "Jobs": {
        "schedule": Entry("jobs.schedule:schedule", "Schedule a job"),
        "list": Entry("jobs.listing:list_command", "List jobs, the newest first"),
        "get": Entry("jobs.get:get", "Show one job"),
        "change": Entry("jobs.change:change", "Change a job"),
        "cancel": Entry("jobs.acts:cancel", "Cancel jobs for good"),
        "pause": Entry("jobs.acts:pause", "Pause jobs"),
        "resume": Entry("jobs.acts:resume", "Resume paused jobs"),
        "delete": Entry("jobs.acts:delete", "Delete jobs"),
        "run": Entry("jobs.acts:run", "Run a job now, in addition to its schedule"),
        "executions": Entry("jobs.executions:executions", "List executions of a job or a worker, or by status"),
        "backfill": Entry("jobs.backfill:backfill", "Run a recurring job for the fire times of a past window"),
        "explain": Entry("jobs.get:explain", "Say why a job has not run, or what it is doing"),
        "preview": Entry("jobs.preview:preview", "Show when a schedule fires next"),
        "forecast": Entry("jobs.backfill:forecast", "Count the runs due in each coming minute"),
        "workflow": Entry("jobs.workflow:workflow", "Start workflows, and show their progress"),
        "listen": Entry("jobs.listen:listen", "Receive the HTTP calls of jobs and show how late they are"),
    },
    "Operations": {
        "top": Entry("operations.top:top", "Show the state of the stage on a live screen"),
        "overview": Entry(
            "operations.overview:overview", "Show the state of the stage, its queues, workers and failures"
        ),
        "queues": Entry("operations.overview:queues", "Show how many runs of all tenants are waiting for workers"),
        "doctor": Entry("operations.doctor:doctor", "Check the API, ticks, clock, queues, failures and workers"),
        "dead-letters": Entry("operations.dead_letters:dead_letters", "List executions that failed for good"),
        "redrive": Entry("operations.dead_letters:redrive", "Run dead letters again"),
        "workers": Entry("operations.overview:workers", "List the pull workers that may run your jobs"),
        "gates": Entry("operations.limits:gates", "Show, set, pause and delete gates, which limit your own jobs"),
        "audit": Entry("operations.audit:audit", "Check that every recent fire time has one recorded outcome"),
        "limits": Entry("operations.limits:limits", "Show, set and lift the limits of tenants"),
        "restore": Entry("operations.tables:restore", "Restore a stage's table as it was at an earlier time"),
        "tenants": Entry("operations.tenants:tenants", "Pause, resume or cancel a tenant's jobs, or delete its data"),
        "shards": Entry("operations.tables:shards", "Show how many shards a stage has used, and retire old ones"),
    },
    "Transfer": {
        "export": Entry("operations.transfer:export", "Write all data of a stage to FILE, as JSON lines"),
        "import": Entry("operations.transfer:import_file", "Import the data of an export into this stage"),
        "thaw": Entry("operations.transfer:thaw", "Reopen a frozen stage"),
        "backup": Entry("operations.transfer:backup", "Copy the data of `onthedot serve` to FILE, even while it runs"),
    },
    "Work": {
        "worker": Entry("worker:worker", "Take runs from a pull pool and execute them in parallel"),
    },
    "Stacks": {
        "serve": Entry("serve:serve", "Run the whole scheduler in one process"),
        "up": Entry("stacks:up", "Start the local AWS and deploy the stacks to it"),
        "down": Entry("stacks:down", "Stop the local AWS and keep its data"),
        "reset": Entry("stacks:reset", "Stop the local AWS and delete its data"),
        "bootstrap": Entry("deploying.deploy:bootstrap", "Prepare an account and a region for deployments"),
        "deploy": Entry("deploying.deploy:deploy", "Deploy the stacks to your AWS account"),
        "destroy": Entry("deploying.destroy:destroy", "Delete a stage from your AWS account"),
        "completion": Entry("stacks:completion", "Print the shell completion script"),
        "tokens": Entry("operations.tokens:tokens", "Create, list and revoke API tokens"),
    },
}
