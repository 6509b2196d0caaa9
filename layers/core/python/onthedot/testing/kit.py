"""The value of the fixture: a client, a clock, captured calls, faults on request, and assertions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from onthedot.client import Client, Execution, Job, Status
from onthedot.client.values import ENDED
from onthedot.clock import NOON, VirtualClock
from onthedot.ports import Answer, Principal
from onthedot.testing import idempotency
from onthedot.testing.clock import KitClock, instant_of
from onthedot.testing.durations import Duration, milliseconds
from onthedot.testing.faults import FAILED, Armed, Fault, FaultyWorker
from onthedot.testing.history import History
from onthedot.testing.outcomes import story
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


@dataclass(slots=True, repr=False, eq=False)
class Kit:
    """A whole scheduler in memory for one test."""

    _world: VirtualWorld
    _targets: CapturedTargets = field(init=False)
    _worker: FaultyWorker = field(init=False)
    _scheduler: VirtualScheduler = field(init=False)
    _history: History = field(init=False)
    client: Client = field(init=False)
    """A client of the scheduler's API, as the tenant `test`."""
    clock: KitClock = field(init=False)

    def __post_init__(self) -> None:
        world = self._world
        self._targets = CapturedTargets(world.clock, _Workflows(self))
        self._worker = FaultyWorker(self._targets)
        self._scheduler = VirtualScheduler(world.clock, world.engine, world.queues, world.outlook, self._worker)
        self._worker.scheduler = self._scheduler
        self._scheduler.before_start = self._worker.before_start
        self.clock = KitClock(self._scheduler)
        self.client = self.client_for(TENANT)
        engine = self._scheduler.engine
        self._history = History(TENANT, self.client, engine, world.outlook, self._targets)

    def __repr__(self) -> str:
        return f"<onthedot at {self.clock.now.isoformat()}>"

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

    def check_faults(self) -> None:
        """Check that each fault that the test asked for has struck an attempt. The fixture does this at its end."""
        __tracebackhide__ = True
        if self._worker.armed:
            left = "; ".join(armed.fault.value for armed in self._worker.armed)
            raise AssertionError(f"the test asked for faults, and no attempt came that they could strike: {left}")

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
        return self._history.runs(job)

    def assert_succeeded(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far have succeeded: at least one, or exactly so many."""
        __tracebackhide__ = True
        self._history.assert_all(Status.SUCCEEDED, job, times)

    def assert_failed(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far have failed: at least one, or exactly so many."""
        __tracebackhide__ = True
        self._history.assert_all(Status.FAILED, job, times)

    def assert_skipped(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far were skipped: at least one, or exactly so many."""
        __tracebackhide__ = True
        self._history.assert_all(Status.SKIPPED, job, times)

    def assert_called(self, what: str, times: int = 1) -> None:
        """Check that a handler, or a URL, was called so many times. Each attempt is a call."""
        __tracebackhide__ = True
        self._history.assert_called(what, times)

    def assert_called_once(self, what: str) -> None:
        """Check that a handler, or a URL, was called once."""
        __tracebackhide__ = True
        self.assert_called(what, 1)

    def assert_not_called(self, what: str) -> None:
        """Check that a handler, or a URL, was not called."""
        __tracebackhide__ = True
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
        __tracebackhide__ = True
        idempotency.check_idempotent(handler, partial(self._run_with, handler, payload), observe, reset)

    def _run_with(self, handler: str, payload: Any, fault: Fault | None) -> None:
        if fault is not None:
            self._worker.armed.appendleft(Armed(fault))
        job = self.client.schedule(handler, payload)
        self.settle()
        self.assert_succeeded(job, times=1)


@dataclass(frozen=True, slots=True)
class _Workflows:
    """The performer that makes the jobs of a workflow. It uses the engine of the scheduler, with its queues."""

    kit: Kit

    def perform(self, call: Any) -> Answer:
        return WorkflowStarter(self.kit._scheduler.engine).perform(call)


@contextmanager
def kit(start: datetime = START) -> Iterator[Kit]:
    """Open a scheduler in memory whose clock begins at this time. At its end, check that all faults have struck."""
    with virtual_world(VirtualClock(instant_of(start))) as world:
        opened = Kit(world)
        yield opened
        opened.check_faults()
