"""Call one handler of an app, in a process of its own or in this one: its message, its reports and its reply."""

import asyncio
import contextlib
import inspect
import json
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any, Final

from onthedot.core.clock import format_instant
from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.core.progress import LatestProgress, ProgressReport
from onthedot.handlers import AttemptLink, Context, Handler, NonRetryable, RetryAfter, handlers
from onthedot.targets.answers import MAX_RETRY_AFTER_MS

REPORT_SECONDS: Final = 0.2
"""The time between two reports that are sent to the worker. Of those made meanwhile only the latest is sent."""


class HandlerLink(AttemptLink):
    """The link of one run. A thread sends the handler's reports. It starts with the first one, and ends with the run.

    `send` sends one message to the worker, or raises OSError.
    """

    stop_requested = False

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._send = send
        self._progress = LatestProgress()
        self._thread: threading.Thread | None = None
        self._sending = threading.Lock()
        self._ended = False

    def report(self, report: ProgressReport) -> None:
        # Without a lock: the handler may fork while another thread holds one.
        self._progress.report(report)
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_reports, name="onthedot-progress", daemon=True)
            with contextlib.suppress(RuntimeError):  # no room for a thread, and the handler's work is worth more
                self._thread.start()

    def end(self, reply: Mapping[str, Any]) -> None:
        """Send the reply of the handler, and no report after it."""
        with self._sending:
            self._ended = True
            self._send(reply)

    def _send_reports(self) -> None:
        with contextlib.suppress(OSError):  # the worker has gone, or this is a process that the handler forked
            while not self._ended:
                time.sleep(REPORT_SECONDS)
                self._send_latest()

    def _send_latest(self) -> None:
        with self._sending:
            report = self._progress.unsent
            if report is not None and not self._ended:
                self._send({"progress": [report.fraction, report.text]})
                self._progress.mark_sent(report)


_MAX_ERROR: Final = 2000
_ANY: Final = (BaseException,)
OnError = Callable[[BaseException], None]
"""Gets the error of a handler while it is handled."""
OnCall = Callable[[Any, Context], None]
"""Gets the payload and the context just before the handler is called."""
Await = Callable[[Coroutine[Any, Any, Any]], Any]


def message_for(call: Call, handler: str) -> Mapping[str, Any]:
    """Return the message that names a handler and has its payload and context. Raise UnicodeDecodeError."""
    return {
        "handler": handler,
        "payload": call.payload.decode("utf-8"),
        "context": {
            "job_id": call.job_id,
            "run_id": call.run_id,
            "attempt": call.attempt,
            "idempotency_key": call.run_id,
            "fire_time": format_instant(call.fire_time),
            "started_at": format_instant(call.started_at) if call.started_at else None,
            "timeout_seconds": call.timeout_ms / 1000,
        },
    }


def run_handler(
    message: Mapping[str, Any],
    on_error: OnError,
    caught: tuple[type[BaseException], ...] = _ANY,
    run: Await = asyncio.run,
    on_call: OnCall = lambda *_: None,
    *,
    link: AttemptLink,
) -> Mapping[str, Any]:
    """Call the handler and return its reply. The errors in `caught` are replies too. `run` awaits a coroutine."""
    handler = handlers().get(message["handler"])
    if handler is None:
        return _failure(f"the app has no handler {message['handler']!r}", "unknown_handler", retryable=False)
    try:
        payload = json.loads(message["payload"] or "null")
    except ValueError as error:
        return _failure(f"the payload is not JSON: {error}", "bad_payload", retryable=False)
    context = _context(message["context"], link)
    on_call(payload, context)
    try:
        value = _call(handler, payload, context, run)
    except caught as error:
        on_error(error)
        return _raised(error)
    try:
        # The JSON is ASCII, so it has as many bytes as characters.
        return {"ok": True, "result": None if value is None else json.dumps(value, allow_nan=False)[:RESULT_BYTES]}
    except (TypeError, ValueError, RecursionError) as error:
        return _failure(f"the handler's result is not JSON: {error}", "bad_result", retryable=False)


def answer_of(reply: Mapping[str, Any]) -> Answer:
    """Return the answer that the reply of a handler stands for. A handler's own texts in it stay as they are."""
    match reply:
        case {"ok": True, "result": None | str() as result}:
            return Answer(ok=True, result=result)
        case {"ok": False, "error": str() as error, "error_class": str() as error_class, "retryable": bool() as again}:
            wait = reply.get("retry_after_ms")
            return Answer(
                ok=False,
                error=_valid(error),
                error_class=_valid(error_class),
                retryable=again,
                retry_after_ms=min(wait, MAX_RETRY_AFTER_MS) if isinstance(wait, int) else None,
            )
        case _:
            return Answer(
                ok=False, error="the handler wrote to the worker's socket", error_class="bad_result", retryable=False
            )


def _call(handler: Handler, payload: Any, context: Context, run: Await) -> Any:
    value = handler(payload, context) if _takes_context(handler) else handler(payload)
    return run(value) if inspect.iscoroutine(value) else value


def _takes_context(handler: Handler) -> bool:
    """Return whether the handler's second parameter is required, or is named context."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):  # not written in Python
        return False
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].default is inspect.Parameter.empty or positional[1].name == "context")


def takes_context(name: str) -> bool:
    """Return whether the handler of this name gets the context, and so may learn that it is to stop."""
    handler = handlers().get(name)
    return handler is not None and _takes_context(handler)


def _context(fields: Mapping[str, Any], link: AttemptLink) -> Context:
    given = {name: value for name, value in fields.items() if value is not None}
    times: dict[str, Any] = {
        name: datetime.fromisoformat(given[name]) for name in ("fire_time", "started_at") if name in given
    }
    return Context(**(given | times), link=link)


def _raised(error: BaseException) -> Mapping[str, Any]:
    name = type(error).__name__
    failure = _failure(_text(error) or name, name, retryable=not isinstance(error, NonRetryable))
    return {**failure, "retry_after_ms": int(error.seconds * 1000)} if isinstance(error, RetryAfter) else failure


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the error's own __str__ may fail
        return ""


def _failure(error: str, error_class: str, *, retryable: bool) -> Mapping[str, Any]:
    return {"ok": False, "error": error[:_MAX_ERROR], "error_class": error_class[:100], "retryable": retryable}


def _valid(text: str) -> str:
    """Replace halves of characters, which JSON allows and UTF-8 cannot store."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
