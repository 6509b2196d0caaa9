"""The value of the fixture: a client, a clock, captured calls, faults on request, and assertions."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from onthedot.access.ports import Principal
from onthedot.access.signing_keys import keys_of
from onthedot.access.tokens import authenticate, create_token
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.client import Client, Execution, Job, Status
from onthedot.client.transport import Reply
from onthedot.client.values import ENDED
from onthedot.core.clock import NOON, VirtualClock
from onthedot.core.ports import Answer
from onthedot.engine import Engine
from onthedot.testing.history import History, check_idempotent, story
from onthedot.testing.scheduler import FAILED, Armed, Fault, FaultyWorker, VirtualScheduler
from onthedot.testing.targets import CapturedTargets, HandlerCall, HttpCall, Scripted
from onthedot.wiring.virtual import VirtualWorld, virtual_world
from onthedot.workflows.start import WorkflowStarter

Duration = str | float | timedelta
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*")


def milliseconds(duration: Duration) -> int:
    """Read a duration as tests write it: `"1h"`, `"1h30m"`, `3600`, or a timedelta. Raise ValueError."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, str):
        return _read(duration)
    if not 0 <= duration < float("inf"):
        raise ValueError(f"{duration!r} is not a duration; time only moves forward")
    return round(duration * 1000)


def _read(text: str) -> int:
    parts = list(_PART.finditer(text.strip()))
    if not parts or "".join(part.group(0) for part in parts) != text.strip():
        raise ValueError(f"{text!r} is not a duration; write 90s, 10m, 1h30m, 2d or 1w")
    return round(sum(float(part[1]) * _UNITS[part[2]] for part in parts))


@dataclass(frozen=True, slots=True)
class KitClock:
    """The virtual clock. It stands still until the test moves it, and everything due on the way happens then."""

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
        instant = instant_of(time)
        if instant < self._scheduler.clock.now():
            raise ValueError(f"{time.isoformat()} is before {self.now.isoformat()}; time only moves forward")
        self._scheduler.let_pass(instant)


def instant_of(time: datetime) -> int:
    """Return a time in epoch milliseconds. Raise ValueError when it has no zone."""
    if time.tzinfo is None:
        raise ValueError("give a datetime with a time zone, such as datetime(2026, 3, 1, 12, tzinfo=UTC)")
    return round(time.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class InProcessTransport:
    """A `Transport` that calls the API in this process, without a server."""

    engine: Engine

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        principal = authenticate(self.engine.tokens, headers.get("Authorization"))
        request = Request(method, path, dict(query), headers, body or b"", principal)
        response = handle(self.engine, request)
        named = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, response.text.encode(), named)

    def close(self) -> None:
        pass


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
        self._history = History(TENANT, self.client, world, self._targets)

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
            raise AssertionError(f"the test asked for faults that no attempt met: {left}")

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
        """Check that the executions so far have succeeded: at least one, or exactly `times`."""
        __tracebackhide__ = True
        self._history.assert_all(Status.SUCCEEDED, job, times)

    def assert_failed(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far have failed: at least one, or exactly `times`."""
        __tracebackhide__ = True
        self._history.assert_all(Status.FAILED, job, times)

    def assert_skipped(self, job: Job | str | None = None, times: int | None = None) -> None:
        """Check that the executions so far were skipped: at least one, or exactly `times`."""
        __tracebackhide__ = True
        self._history.assert_all(Status.SKIPPED, job, times)

    def assert_called(self, what: str, times: int = 1) -> None:
        """Check that a handler, or a URL, was called `times` times. Each attempt is a call."""
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
        check_idempotent(handler, partial(self._run_with, handler, payload), observe, reset)

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
