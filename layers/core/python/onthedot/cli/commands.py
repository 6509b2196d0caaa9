"""The table of all commands: the module of each command, and its line in `onthedot --help`."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A command that is not loaded yet."""

    location: str
    """Its module in this package and its name there, such as `work.worker:worker`."""
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
        "run": Entry("jobs.acts:run", "Run a job now, beside its schedule"),
        "executions": Entry("jobs.executions:executions", "List executions of a job or a worker, or by status"),
        "backfill": Entry("jobs.backfill:backfill", "Run a recurring job for its fire times of a past window"),
        "explain": Entry("jobs.get:explain", "Say why a job has not run, or what it does now"),
        "preview": Entry("jobs.preview:preview", "Show when a schedule fires next"),
        "forecast": Entry("jobs.backfill:forecast", "Count the runs of each coming minute"),
        "workflow": Entry("jobs.workflow:workflow", "Start workflows, and show how far they are"),
        "listen": Entry("jobs.listen:listen", "Receive the HTTP calls of jobs and show how late they are"),
    },
    "Operations": {
        "top": Entry("operations.top:top", "Show the state of the stage on a live screen"),
        "overview": Entry(
            "operations.overview:overview", "Show the state of the stage, its queues, workers and failures"
        ),
        "queues": Entry("operations.overview:queues", "Show how many runs of all tenants wait for workers"),
        "doctor": Entry("operations.doctor:doctor", "Check the API, the ticks, the clock, queues, failures, workers"),
        "dead-letters": Entry("operations.dead_letters:dead_letters", "List executions that failed for good"),
        "redrive": Entry("operations.dead_letters:redrive", "Run dead letters again"),
        "workers": Entry("operations.overview:workers", "List the pull workers that may run your jobs"),
        "gates": Entry("operations.limits:gates", "Show, set, pause and delete gates, which limit your own jobs"),
        "audit": Entry("operations.audit:audit", "Check that every recent fire time has one recorded outcome"),
        "limits": Entry("operations.limits:limits", "Show, set and lift the limits of tenants"),
        "restore": Entry("operations.tables:restore", "Restore the table of a stage as it was at an earlier time"),
        "tenants": Entry("operations.tenants:tenants", "Pause, resume or cancel a tenant's jobs, or delete its data"),
        "shards": Entry("operations.tables:shards", "Show the numbers of shards that were used, and retire old ones"),
    },
    "Transfer": {
        "export": Entry("operations.transfer:export", "Write all data of a stage to FILE, as JSON lines"),
        "import": Entry("operations.transfer:import_file", "Store the data of an export in this stage"),
        "thaw": Entry("operations.transfer:thaw", "Open a frozen stage again"),
        "backup": Entry(
            "operations.transfer:backup", "Copy the data of `onthedot serve` to FILE, while it runs or not"
        ),
    },
    "Work": {
        "worker": Entry("work.worker:worker", "Take runs from a pull pool and run them side by side"),
    },
    "Stacks": {
        "serve": Entry("serve:serve", "Run the whole scheduler in one process"),
        "up": Entry("stacks:up", "Start the local AWS and deploy the stacks to it"),
        "down": Entry("stacks:down", "Stop the local AWS and keep its data"),
        "reset": Entry("stacks:reset", "Stop the local AWS and delete its data"),
        "bootstrap": Entry("deploying.deploy:bootstrap", "Prepare an account and a region for deployments, once"),
        "deploy": Entry("deploying.deploy:deploy", "Deploy the stacks to the AWS account of your credentials"),
        "destroy": Entry("deploying.destroy:destroy", "Delete a stage from the AWS account of your credentials"),
        "completion": Entry("stacks:completion", "Print the shell completion of this command"),
        "tokens": Entry("operations.tokens:tokens", "Make, list and revoke API tokens"),
    },
}
