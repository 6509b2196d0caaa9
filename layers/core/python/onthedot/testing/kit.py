"""The value of the fixture: a client, a clock, captured calls, faults on request, and assertions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from onthedot.client import Client, Execution, Job, Status
from onthedot.client.answers import ENDED
from onthedot.clock import NOON, VirtualClock
from onthedot.domain.targets.types import PythonTarget
from onthedot.ports import Answer, Principal
from onthedot.testing import idempotency
from onthedot.testing.durations import Duration, milliseconds
from onthedot.testing.faults import FAILED, Armed, Fault, FaultyWorker
from onthedot.testing.outcomes import calls_in_words, story
from onthedot.testing.scheduler import VirtualScheduler
from onthedot.testing.targets import CapturedTargets, HandlerCall, HttpCall, Scripted
from onthedot.testing.transport import InProcessTransport
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.access.tokens import create_token
from onthedot.use_cases.workflows.start_workflow import WorkflowStarter
from onthedot.wiring.virtual import VirtualWorld, virtual_world

TENANT: Final = "test"
START: Final = datetime.fromtimestamp(NOON / 1000, UTC)
"""2026-03-01T12:00:00Z, where virtual time begins unless a test chooses another time."""
SETTLED_WITHIN: Final = "1d"


@dataclass(frozen=True, slots=True)
class KitClock:
    """The virtual clock. It stands still until the test moves it, and what is due on the way happens then."""

    _scheduler: VirtualScheduler

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return datetime.fromtimestamp(self._scheduler.clock.now() / 1000, UTC)

    def advance(self, duration: Duration) -> None:
        """Let time pass: `"1h"`, `"1h30m"`, seconds, or a timedelta. Everything due on the way runs at its time."""
        self._scheduler.let_pass(self._scheduler.clock.now() + milliseconds(duration))

    def advance_to(self, time: datetime) -> None:
        """Let time pass until this time, which must be aware and not before the present."""
        if time.tzinfo is None:
            raise ValueError("give an aware datetime, such as datetime(2026, 3, 1, 12, tzinfo=UTC)")
        instant = round(time.timestamp() * 1000)
        if instant < self._scheduler.clock.now():
            raise ValueError(f"{time.isoformat()} is before {self.now.isoformat()}; time only goes forward")
        self._scheduler.let_pass(instant)


@dataclass(slots=True)
class Kit:
    """A whole scheduler in memory for one test."""

    _world: VirtualWorld
    _targets: CapturedTargets = field(init=False)
    _worker: FaultyWorker = field(init=False)
    _scheduler: VirtualScheduler = field(init=False)
    client: Client = field(init=False)
    """A client of the scheduler's API, as the tenant `test`."""
    clock: KitClock = field(init=False)

    def __post_init__(self) -> None:
        world = self._world
        self._targets = CapturedTargets(world.clock, _Workflows(self))
        self._worker = FaultyWorker(self._targets)
        self._scheduler = VirtualScheduler(world.clock, world.engine, world.outlook, self._worker)
        self._worker.scheduler = self._scheduler
        self._scheduler.before_start = self._worker.before_start
        self.clock = KitClock(self._scheduler)
        self.client = self.client_for(TENANT)

    def client_for(self, tenant: str, role: str = "operator") -> Client:
        """Return a client of the scheduler's API as another tenant, or with another role."""
        engine = self._scheduler.engine
        token, _ = create_token(engine.tokens, engine.clock, Principal(tenant, role, "test"))
        return Client(token=token, transport=InProcessTransport(engine), sleep=lambda _: None)

    # Calls

    @property
    def calls(self) -> list[HttpCall]:
        """The calls of HTTP targets so far. None of them was sent."""
        return self._targets.calls

    @property
    def handled(self) -> list[HandlerCall]:
        """The calls of handlers so far."""
        return self._targets.handled

    @property
    def signing_key(self) -> str:
        """The key that signs the calls of the tenant `test`, for a test of a receiver."""
        return keys_of(self._scheduler.engine, TENANT)[0].secret

    def reply_next(self, *replies: Scripted) -> None:
        """Answer the next HTTP calls, in order: a status, an HttpReply, an error, or a function of the call."""
        self._targets.next_replies.extend(replies)

    def reply_to(self, url: str, reply: Scripted) -> None:
        """Answer all HTTP calls whose URL begins so. A later rule comes before an earlier one."""
        self._targets.rules.append((url, reply))

    # Faults

    def deliver_twice(self) -> None:
        """Deliver the message of the next attempt again, while it runs and after it has ended."""
        self._worker.armed.append(Armed(Fault.DELIVERED_TWICE))

    def crash_before_start(self) -> None:
        """Let the worker of the next run die before it stores the start. The message comes again later."""
        self._worker.armed.append(Armed(Fault.DIES_BEFORE_START))

    def crash_before_call(self) -> None:
        """Let the worker of the next attempt die after the start and before the call. The run is tried again."""
        self._worker.armed.append(Armed(Fault.DIES_BEFORE_CALL))

    def crash_before_finish(self) -> None:
        """Let the worker of the next attempt die after the call, before it stores the end. The run is tried again."""
        self._worker.armed.append(Armed(Fault.DIES_BEFORE_FINISH))

    def fail_next(
        self,
        times: int = 1,
        *,
        error: str = "failed by the test",
        retryable: bool = True,
        retry_after: Duration | None = None,
        after_call: bool = False,
    ) -> None:
        """Let the next attempts fail: without a call, or after the call, whose answer is then lost."""
        wait = None if retry_after is None else milliseconds(retry_after)
        answer = Answer(ok=False, error=error, error_class=FAILED.error_class, retryable=retryable, retry_after_ms=wait)
        fault = Fault.FAILS_AFTER_CALL if after_call else Fault.FAILS
        self._worker.armed.extend([Armed(fault, answer)] * times)

    # Outcomes

    def settle(self, within: Duration = SETTLED_WITHIN) -> None:
        """Let time pass until no run is due, running or to be tried again. Jobs of the future stay there.

        Raise AssertionError when that takes longer.
        """
        scheduler, outlook = self._scheduler, self._world.outlook
        until = scheduler.clock.now() + milliseconds(within)
        scheduler.let_pass(scheduler.clock.now())
        while outlook.has_unended(scheduler.clock.now()):
            moment = scheduler.next_moment()
            if moment is None or moment > until:
                waiting = [run for run in self.runs() if run.status not in ENDED]
                raise AssertionError(f"runs have not ended within {within}:\n{story(waiting)}")
            scheduler.let_pass(moment)

    def runs(self, job: Job | str | None = None) -> list[Execution]:
        """Return the executions of a job, the oldest first, or of all jobs. Name a job by id, name or handler."""
        found = [run for job_id in self._job_ids(job) for run in self.client.executions(job_id)]
        return sorted(found, key=lambda run: (run.fire_time or START, run.id))

    def assert_succeeded(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far have succeeded: at least one, or exactly so many."""
        self._assert_all(Status.SUCCEEDED, job, times)

    def assert_failed(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far have failed: at least one, or exactly so many."""
        self._assert_all(Status.FAILED, job, times)

    def assert_skipped(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far were skipped: at least one, or exactly so many."""
        self._assert_all(Status.SKIPPED, job, times)

    def assert_called(self, what: str, times: int = 1) -> None:
        """Check that a handler, or a URL, was called so many times. Each attempt is a call."""
        is_url = "://" in what
        calls: list[HttpCall] | list[HandlerCall] = self.calls if is_url else self.handled
        found = [one for one in calls if (one.url if isinstance(one, HttpCall) else one.handler) == what]
        if len(found) != times:
            listed = calls_in_words(found or calls)
            raise AssertionError(f"{what} was called {len(found)} times, and not {times} times. Calls:\n{listed}")

    def assert_called_once(self, what: str) -> None:
        """Check that a handler, or a URL, was called once."""
        self.assert_called(what, 1)

    def assert_not_called(self, what: str) -> None:
        """Check that a handler, or a URL, was not called."""
        self.assert_called(what, 0)

    def check_idempotent(
        self,
        handler: str,
        payload: Any = None,
        *,
        observe: Callable[[], Any],
        reset: Callable[[], object] | None = None,
    ) -> None:
        """Run a handler once without a fault and once under each fault, and compare the effects. Raise AssertionError.

        `observe` returns the state that the handler changes. Only the growth of a number or a list counts. For other
        values, give `reset`, which is called before each run.
        """
        idempotency.check_idempotent(handler, partial(self._run_with, handler, payload), observe, reset)

    def _run_with(self, handler: str, payload: Any, fault: Fault | None) -> None:
        if fault is not None:
            self._worker.armed.appendleft(Armed(fault))
        job = self.client.schedule(handler, payload)
        self.settle()
        self.assert_succeeded(job, times=1)

    def _assert_all(self, status: Status, job: Job | str | None, times: int | None) -> None:
        runs = self.runs(job)
        wanted = [run for run in runs if run.status == status]
        if len(wanted) == len(runs) and (wanted if times is None else sum(run.count for run in wanted) == times):
            return
        number = "all" if times is None else str(times)
        of = "" if job is None else f" of {job.id if isinstance(job, Job) else job}"
        message = f"{number} executions{of} should be {status}, and {len(wanted)} of {len(runs)} are:\n{story(runs)}"
        raise AssertionError(message) from self._error_of(runs)

    def _error_of(self, runs: list[Execution]) -> BaseException | None:
        """Return the last error that a handler raised in one of these executions, so that pytest shows where."""
        ids = {run.id for run in runs}
        errors = [one.error for one in self.handled if one.error is not None and one.context.run_id in ids]
        return errors[-1] if errors else None

    def _job_ids(self, job: Job | str | None) -> list[str]:
        ids = list(self._world.outlook.job_ids())
        if job is None:
            return ids
        wanted = job.id if isinstance(job, Job) else job
        found = [wanted] if wanted in ids else [job_id for job_id in ids if wanted in self._names_of(job_id)]
        if not found:
            known = sorted({name for job_id in ids for name in self._names_of(job_id)} or {"(none)"})
            raise AssertionError(f"there is no job {wanted!r}; the names and handlers of jobs are: {', '.join(known)}")
        return found

    def _names_of(self, job_id: str) -> set[str]:
        record = self._scheduler.engine.store.get(job_id)
        if record is None or record.definition is None:
            return set()
        target = record.definition.target
        handler = target.handler if isinstance(target, PythonTarget) else None
        return {name for name in (record.definition.name, handler) if name is not None}


@dataclass(frozen=True, slots=True)
class _Workflows:
    """The performer that makes the jobs of a workflow. It uses the engine of the scheduler, with its queues."""

    kit: Kit

    def perform(self, call: Any) -> Answer:
        return WorkflowStarter(self.kit._scheduler.engine).perform(call)  # noqa: SLF001 - a part of the kit


@contextmanager
def kit(start: datetime = START) -> Iterator[Kit]:
    """Open a scheduler in memory whose clock begins at this time, for a test without pytest."""
    if start.tzinfo is None:
        raise ValueError("give an aware datetime as the start")
    with virtual_world(VirtualClock(round(start.timestamp() * 1000))) as world:
        yield Kit(world)
