"""Say what would happen if a client resumed, ran or redrove a job now, or if a limit were lifted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core import patience
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.clock import format_instant
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import QUEUE, TENANT, TURN, GateId, gate_of_slot, name_of
from onthedot.core.lifecycle import MAX_LOSSES
from onthedot.core.moves import applied
from onthedot.core.pools import Needs, PoolKind, worker_needs
from onthedot.core.ports import Deadline
from onthedot.core.reasons import Reason
from onthedot.core.records import SCHEDULED, Definition, Kind, Record, Status
from onthedot.core.slots import Deployment, queue_key
from onthedot.core.stamp import records_since
from onthedot.core.stamping import Stamping, plan_stamps
from onthedot.engine import Engine
from onthedot.gates.explained import GateFacts, wait_ms
from onthedot.gates.limits import GateLimits
from onthedot.jobs import changes
from onthedot.jobs.explain import LAST_RUN, MOST_NAMED, STAGE_CLOSED, QueueState
from onthedot.jobs.shown import coming_fire
from onthedot.schedules.choices import MisfirePolicy
from onthedot.schedules.counting import count_fires
from onthedot.schedules.schedule import next_fire
from onthedot.workers.explain import UNABLE, why_no_worker
from onthedot.workflows.dependencies import called

_TYPE_OPTIONS: Final = {
    "http": "",
    "shell": "--shell",
    "python": "--app MODULE",
    "lambda": "--aws --direct",
    "aws": "--aws --direct",
}
"""The options with which `onthedot worker` runs targets of these types."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One action and its effect: a stable word for programs and a sentence for people."""

    action: str
    message: str


def resumed(
    job: Record, now: int, deployment: Deployment, existing: Sequence[Record] = (), unreadable: Sequence[str] = ()
) -> WhatIf:
    """Say what a resume would do. `existing` has the records from the job's position on, if that is over."""
    move = changes.resume(job, now, deployment)
    active = job if move is None else applied(job, move)
    if job.kind is Kind.EVENT:
        return WhatIf("resume", "Resumed now, it would run for the events that come from then on.")
    if job.kind is not Kind.RECURRING or job.recurrence is None:
        when = "start at once" if active.due_at <= now else f"run at {format_instant(active.due_at)}"
        return WhatIf("resume", f"Resumed now, it would {when}.")
    following = next_fire(job.recurrence.schedule, now)
    missed = _missed(active, now, deployment, existing, unreadable) if job.due_at <= now else ""
    if missed:
        then = "no fire time is left" if following is None else f"the next is at {format_instant(following)}"
        return WhatIf("resume", f"Resumed now: {missed}; {then}.")
    when = "have no fire time left" if following is None else f"run at {format_instant(following)}"
    return WhatIf("resume", f"Resumed now, it would {when}.")


def _missed(
    job: Record, now: int, deployment: Deployment, existing: Sequence[Record], unreadable: Sequence[str]
) -> str:
    """Say what happens to the fire times up to now, by the plan that a dispatcher would carry out."""
    if job.recurrence is None:
        return ""
    plan = plan_stamps(job, now=now, claim_token="", deployment=deployment, existing=existing, unreadable=unreadable)
    if plan is None:
        return ""
    begun = {record.run_id for record in existing if record.attempt}
    runs = [run for run in plan.runs if run.fire_time <= now and run.run_id not in begun]
    policy = job.recurrence.misfire.policy
    said = []
    if runs and policy is MisfirePolicy.RUN_ALL:
        number = max(len(runs), count_fires(job.recurrence.schedule, job.due_at - 1, now + 1))
        said.append(_all_run(number, format_instant(runs[0].fire_time)))
    elif runs:
        said.append(_latest_run([run.fire_time for run in runs]))
    if skipped := _skipped(job, plan, existing, now):
        older = "1 older one is" if skipped == 1 else f"{skipped:,} older ones are"
        missed = "1 missed fire time is" if skipped == 1 else f"{skipped:,} missed fire times are"
        said.append(f"{older if runs else missed} skipped")
    return f"{', '.join(said)} (misfire policy {policy})" if said else ""


def _all_run(number: int, first: str) -> str:
    if number == 1:
        return f"the missed fire time ({first}) runs at once"
    return f"{number:,} missed fire times run at once, the oldest ({first}) first"


def _latest_run(times: Sequence[int]) -> str:
    first, last = format_instant(times[0]), format_instant(times[-1])
    if len(times) == 1:
        return f"the latest missed fire time ({last}) runs at once"
    return f"the latest {len(times):,} missed fire times ({first} to {last}) run at once"


def _skipped(job: Record, plan: Stamping, existing: Sequence[Record], now: int) -> int:
    planned = {run.run_id for run in plan.runs}
    ended = [
        record
        for record in existing
        if record.status is Status.SKIPPED and record.fire_time >= job.due_at and record.run_id not in planned
    ]
    times = [*plan.skipped, *ended]
    return len(plan.ends) + sum(one.skipped_count or 1 for one in times if one.fire_time <= now)


def lifted(gate: GateId, priority: Priority, facts: GateFacts | None, now: int) -> WhatIf | None:
    """Say what would happen if the gate at which a run waits let it pass. None: no client can do that."""
    if gate.name == QUEUE:
        return None
    if gate.name == TURN:
        return WhatIf("allow_overlap", "With overlap `allow` it would start at once.")
    if facts is not None and facts.limits is not None and facts.limits.paused:
        return _gate_resumed(gate, facts, facts.limits)
    limit = "the limits" if gate.name == TENANT else "the limit"
    what = f"{limit} of tenant {gate.tenant}" if gate.name == TENANT else f"{limit} of {name_of(gate)}"
    if facts is None or facts.limits is None or facts.limits.is_stopped:
        return WhatIf("lift_limit", f"If {what} were lifted now, it would start at once.")
    wait = wait_ms(facts, facts.limits, priority, now)
    rate = "" if wait is None else f" At the current rate it starts at about {format_instant(now + round(wait))}."
    return WhatIf("lift_limit", f"If {what} were lifted now, it would start at once.{rate}")


def _gate_resumed(gate: GateId, facts: GateFacts, limits: GateLimits) -> WhatIf:
    """Say what would happen if a paused gate, or the runs of a paused tenant, went on with the other limits."""
    what = f"tenant {gate.tenant}" if gate.name == TENANT else f"gate {gate.name}"
    has_place = limits.in_flight is None or facts.in_use + facts.before < limits.in_flight
    is_first = limits.per_second is None or not facts.before
    when = "start at once" if has_place and is_first else "start when its turn comes"
    return WhatIf("lift_limit", f"If {what} were resumed now, it would {when}.")


def run_now(job: Record, now: int, queue: QueueState | None) -> WhatIf:
    at = coming_fire(job, now)
    stays = "" if at is None else f" Its schedule stays as it is: {format_instant(at)}."
    if job.kind is Kind.ONE_OFF:
        stays = "" if at is None else f" It would still run at {format_instant(at)} too."
    return WhatIf("run_now", f"Run now, it would {_through(job, queue)}.{stays}")


def redriven(
    run: Record,
    retry: RetryPolicy | None,
    queue: QueueState | None,
    failed_parents: Sequence[str] = (),
    no_worker: Reason | None = None,
) -> WhatIf:
    """`failed_parents` names parents that are dead letters. `no_worker` says that no live worker can run it."""
    tries = "" if retry is None else f", with {_attempts(retry)}"
    through = _through(run, queue, no_worker)
    if failed_parents:
        results = "the result of that run" if len(failed_parents) == 1 else "the results of these runs"
        first = f"Redrive {' and '.join(failed_parents)} first: this job needs {results}."
        return WhatIf("redrive", f"{first} Redriven now, it would not wait for that: it would {through}{tries}.")
    again, first = "", ""
    if no_worker is not None:
        first = f"Start a worker first: {no_worker.message.removesuffix('; start one')}. "
    if run.losses >= MAX_LOSSES:
        again = f" Its worker was lost in each of {run.losses} attempts, so it will probably end in the same way."
    return WhatIf("redrive", f"{first}Redriven now, it would {through}{tries}.{again}")


def _attempts(retry: RetryPolicy) -> str:
    return f"up to {retry.max_retries + 1} attempts" if retry.max_retries else "1 attempt"


def _through(run: Record, queue: QueueState | None, no_worker: Reason | None = None) -> str:
    name = queue_key(run.pool, run.priority)
    if no_worker is not None:
        return f"wait in queue {name} for such a worker"
    if queue is None or queue.visible is None:
        return f"go to queue {name}"
    if queue.visible == 0:
        return f"start at once: no run waits in queue {name}"
    waits = "1 run of all tenants waits" if queue.visible == 1 else f"{queue.visible:,} runs of all tenants wait"
    return f"wait in queue {name}, where {waits}"


def worker_started(pool: str, needs: Needs) -> WhatIf:
    *others, last = sorted(needs.capabilities) or [""]
    offers = [f"capabilities {', '.join(others)} and {last}" if others else f"capability {last}"] if last else []
    offers += [f"cpu {needs.cpu:g}"] if needs.cpu else []
    offers += [f"memory_mb {needs.memory_mb}"] if needs.memory_mb else []
    offers += [f"storage_mb {needs.storage_mb}"] if needs.storage_mb else []
    offering = f" that offers {', '.join(offers)}" if offers else ""
    command = " ".join(["onthedot worker --pool", pool, *_options(needs.capabilities)])
    return WhatIf("start_worker", f"A worker of pool {pool}{offering} would run it: `{command}`.")


def _options(capabilities: Collection[str]) -> list[str]:
    """Return the options of `onthedot worker` for these capabilities. HTTP calls need none."""
    # The capability of a handler, such as `python:send`, comes with the app that has it.
    names = sorted({name.split(":")[0] if name.startswith("python:") else name for name in capabilities})
    options = [_TYPE_OPTIONS.get(name, f"--capability {name}") for name in names]
    return list(dict.fromkeys(filter(None, options)))


_STAGE_OPENED: Final = WhatIf(
    "open_stage",
    "In an open stage it would go on where it stopped. An admin opens a frozen one with `onthedot thaw`, and one "
    "that imports data with `onthedot import FILE --release`.",
)
"""While the stage is frozen or imports data, every other action is refused."""
_TICKS_ON_TIME: Final = WhatIf(
    "check_ticks",
    "It starts with the next tick. `onthedot doctor` says what stops the ticks: look at the planner and the "
    "dispatcher, or restart `onthedot serve`.",
)
LATE: Final = "scheduler_late"
MOST_PARENTS: Final = 2
"""Failed parents that a redrive names."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A job that is explained, and the facts that were read about it."""

    job: Record
    latest: Record | None
    """The latest due run of a job that stamps runs."""
    definition: Definition | None
    at_gate: GateFacts | None
    """The facts about the gate at which the run waits."""
    now: int

    @property
    def run(self) -> Record:
        """The latest due run, or the job itself."""
        return self.latest or self.job


def what_if_of(engine: Engine, case: Situation, reasons: Sequence[Reason]) -> list[WhatIf]:
    """Return the actions that would help, and their effects. One whose facts cannot be read is left out."""
    codes = {reason.code.removeprefix(LAST_RUN) for reason in reasons}
    if STAGE_CLOSED in codes:
        return [_STAGE_OPENED]
    found = [
        *([_TICKS_ON_TIME] if LATE in codes else []),
        *_resume(engine, case),
        *_lift(case),
        *([_worker(case)] if UNABLE in codes else []),
        *_again(engine, case),
    ]
    return [one for one in found if one is not None]


def _resume(engine: Engine, case: Situation) -> list[WhatIf]:
    job, now = case.job, case.now
    if job.status is not Status.PAUSED:
        return []
    records: Sequence[Record] = ()
    unreadable: list[str] = []
    if job.kind is Kind.RECURRING and job.due_at <= now:
        try:
            page = records_since(engine, job, Deadline.after(now, patience.READ_MS))
        except Unavailable:
            return []
        records, unreadable = page.items, [one.run_id for one in page.unreadable]
    return [resumed(job, now, engine.deployment, records, unreadable)]


def _lift(case: Situation) -> list[WhatIf | None]:
    run = case.run
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return [] if gate is None else [lifted(gate, run.priority, case.at_gate, case.now)]


def _worker(case: Situation) -> WhatIf | None:
    needs = _needs(case)
    return None if needs is None else worker_started(case.run.pool, needs)


def _needs(case: Situation) -> Needs | None:
    definition = case.definition
    if definition is None:
        return None
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)


def _again(engine: Engine, case: Situation) -> list[WhatIf | None]:
    """Say what another run would do: of a dead letter a redrive, of a job that is not due a run now."""
    job, run, now = case.job, case.run, case.now
    if run.status is Status.FAILED:
        retry = None if case.definition is None else case.definition.retry
        missing = _no_worker(engine, case)
        again = redriven(run, retry, queue_state(engine, run), _failed_parents(engine, run), missing)
        return [again, *([] if missing is None else [_worker(case)])]
    is_waiting = job.status in SCHEDULED and job.due_at > now
    is_recurring = job.kind is Kind.RECURRING and job.status is Status.ACTIVE and run.status not in SCHEDULED
    if (is_waiting and not job.attempt) or is_recurring or (job.kind is Kind.RECURRING and run is job):
        return [] if job.status is Status.PAUSED else [run_now(job, now, queue_state(engine, job))]
    return []


def _no_worker(engine: Engine, case: Situation) -> Reason | None:
    """Say that no live worker can run the run again. None: one can, or none is needed, or that is unknown."""
    run = case.run
    pool, needs = engine.deployment.pools.get(run.pool), _needs(case)
    if pool is None or pool.kind is not PoolKind.PULL or needs is None:
        return None
    try:
        workers = engine.registry.workers()
    except Unavailable:
        return None
    reason = why_no_worker(pool.name, run.tenant, needs, workers, case.now)
    return reason if reason is not None and reason.code == UNABLE else None


def _failed_parents(engine: Engine, run: Record) -> list[str]:
    """Name the parents because of which a run failed without an attempt, if they can be read."""
    if run.attempt or not run.parents:
        return []
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    found = engine.store.get_many(run.parents[:MOST_NAMED], deadline).found
    parents = [found[parent] for parent in run.parents if parent in found]
    return [f"its parent {called(parent)}" for parent in parents if parent.status is Status.FAILED][:MOST_PARENTS]


def queue_state(engine: Engine, run: Record) -> QueueState | None:
    """Return None when the stage does not have the pool."""
    if engine.deployment.pools.get(run.pool) is None:
        return None
    try:
        visible = engine.queues.visible(run.pool, run.priority)
    except Unavailable:
        return QueueState(None)
    return QueueState(visible, engine.queues.oldest_age_ms(run.pool, run.priority) if visible else None)
