"""The targets of a test: handlers run in this process, and HTTP calls are captured instead of sent."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Answer, Call, Performer
from onthedot.core.progress import ProgressReport
from onthedot.handlers import AttemptLink, Context
from onthedot.targets.http.messages import Reply, judge, request_for
from onthedot.targets.processes.handler_calls import answer_of, message_for, run_handler
from onthedot.targets.types import HttpTarget, PythonTarget

_CAUGHT: Final = (Exception, SystemExit)
"""The errors of a handler that fail its attempt. KeyboardInterrupt, and the outcomes of pytest, end the test."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request that an HTTP target would have got."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    at: datetime
    """The virtual time of the call."""
    job_id: str
    execution_id: str
    attempt: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class HandlerCall:
    handler: str
    payload: Any
    context: Context
    at: datetime
    """The virtual time of the call."""
    error: BaseException | None = None
    """The error that the handler raised."""
    progress: list[ProgressReport] = field(default_factory=list)
    """The reports that the handler made about its progress, the oldest first."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    status: int = 200
    body: bytes | str | Any = b""
    """Bytes or text as they are, any other value as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)


class _RecordedLink(AttemptLink):
    """The link of a handler that a test runs: it records the reports."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.reports: list[ProgressReport] = []

    @property
    def stop_requested(self) -> bool:
        return self._call.stop.reason is not None

    def report(self, report: ProgressReport) -> None:
        self.reports.append(report)
        self._call.progress.report(report)


Scripted = int | HttpReply | Exception | Callable[[HttpCall], "int | HttpReply | Exception"]
"""A status, a whole reply, an error of the connection, or a function that returns one of these."""


@dataclass(slots=True)
class CapturedTargets(Performer):
    """A performer that calls handlers, and records HTTP calls and answers them as scripted, or else with 200."""

    clock: VirtualClock
    workflows: Performer
    calls: list[HttpCall] = field(default_factory=list)
    handled: list[HandlerCall] = field(default_factory=list)
    next_replies: deque[Scripted] = field(default_factory=deque)
    rules: list[tuple[str, Scripted]] = field(default_factory=list)
    """Prefixes of URLs and their replies. The latest rule that fits counts."""

    def perform(self, call: Call) -> Answer:
        target = call.definition.target
        if isinstance(target, PythonTarget):
            return self._handle(call, target.handler)
        if isinstance(target, HttpTarget):
            return self._call(call, target)
        return self.workflows.perform(call)

    def _handle(self, call: Call, handler: str) -> Answer:
        made: list[HandlerCall] = []
        errors: list[BaseException] = []
        link = _RecordedLink(call)

        def note(payload: Any, context: Context) -> None:
            made.append(HandlerCall(handler, payload, context, self._now(), progress=link.reports))
            self.handled.append(made[0])

        answer = answer_of(run_handler(message_for(call, handler), errors.append, _CAUGHT, _run, note, link=link))
        if errors:
            made[0].error = errors[0]
        return answer

    def _call(self, call: Call, target: HttpTarget) -> Answer:
        request = request_for(call)
        made = HttpCall(
            request.method,
            target.url,
            dict(request.fields),
            request.body or b"",
            self._now(),
            call.job_id,
            call.run_id,
            call.attempt,
        )
        self.calls.append(made)
        return _judged(self._reply_to(made), self.clock.now())

    def _reply_to(self, made: HttpCall) -> int | HttpReply | Exception:
        scripted: Scripted = 200
        if self.next_replies:
            scripted = self.next_replies.popleft()
        else:
            scripted = next((one for prefix, one in reversed(self.rules) if made.url.startswith(prefix)), 200)
        return scripted(made) if callable(scripted) else scripted

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now() / 1000, UTC)


def _judged(reply: int | HttpReply | Exception, now: int) -> Answer:
    """Return the answer that a reply means, by the rules for real replies."""
    if isinstance(reply, TimeoutError):
        return Answer(ok=False, error="timed out while reading the answer", error_class="timeout")
    if isinstance(reply, Exception):
        return Answer(ok=False, error=f"failed while connecting: {reply}", error_class="connection")
    if isinstance(reply, int):
        reply = HttpReply(reply)
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return judge(Reply(reply.status, _bytes(reply.body), retry_after=headers.get("retry-after", "")), now)


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await a handler's coroutine. A test that has an event loop itself cannot start another one in its thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
