"""Runs an app's handlers, one at a time: `python -m …python_child private|open <app>`.

Talks with the worker over a socket that it gets as standard input, a JSON object to a line: first what the app's
handlers are (or why it cannot be imported), then an answer to each run. Its supervisor ends it when the worker dies.
Standard output is the handlers' own: the worker lets it go where its standard error goes.
"""

import asyncio
import importlib
import inspect
import json
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from onthedot.domain.targets.redaction import redacted
from onthedot.jobs import Context, Handler, NonRetryable, RetryAfter, handlers
from onthedot.ports import RESULT_BYTES
from onthedot.targets.processes.private_process import make_private

_MAX_ERROR: Final = 2000


def main() -> None:
    privacy, app = sys.argv[1:]
    if privacy == "private":  # as the worker is, whose environment is also ours
        make_private()
    line = _the_line()
    runs = _listen(line)
    _say(line, _import(app))
    while True:
        _say(line, _run(json.loads(runs.get())))


def _the_line() -> socket.socket:
    """What is standard input at first; handlers find nothing there."""
    line = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    # A process that a handler forks must not hold the line: the worker learns by its end that this one died.
    os.register_at_fork(after_in_child=lambda: os.close(line.detach()))
    return line


def _listen(line: socket.socket) -> "queue.SimpleQueue[bytes]":
    """Runs as they come, from a thread that notices at once when there will be no more."""
    runs: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        with line.makefile("rb") as messages:
            try:
                for message in messages:
                    runs.put(message)
            finally:
                os._exit(0)

    threading.Thread(target=listen, name="onthedot-line", daemon=True).start()
    return runs


def _say(line: socket.socket, message: Mapping[str, Any]) -> None:
    line.sendall(json.dumps(message).encode() + b"\n")


def _import(app: str) -> Mapping[str, Any]:
    try:
        importlib.import_module(app)
    except BaseException as error:  # noqa: BLE001 - whatever an app does when it is imported is the answer
        traceback.print_exc()
        return {"broken": "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]}
    return {"handlers": sorted(handlers())}


def _log(error: BaseException) -> None:
    """For whoever runs the worker, without secrets; what a handler means to say needs no trace."""
    if not isinstance(error, NonRetryable | RetryAfter):
        sys.stderr.write(redacted(traceback.format_exc()))


def _run(run: Mapping[str, Any]) -> Mapping[str, Any]:
    handler = handlers().get(run["handler"])
    if handler is None:
        return _failure(f"the app has no handler {run['handler']!r}", "unknown_handler", retryable=False)
    try:
        payload = json.loads(run["payload"] or "null")
    except ValueError as error:
        return _failure(f"the payload is not JSON: {error}", "bad_payload", retryable=False)
    try:
        value = _call(handler, payload, _context(run["context"]))
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises is its answer, sys.exit included
        _log(error)
        return _raised(error)
    try:
        # ASCII: as many bytes as letters.
        return {"ok": True, "result": None if value is None else json.dumps(value, allow_nan=False)[:RESULT_BYTES]}
    except (TypeError, ValueError, RecursionError) as error:
        return _failure(f"the handler's result is not JSON: {error}", "bad_result", retryable=False)


def _call(handler: Handler, payload: Any, context: Context) -> Any:
    value = handler(payload, context) if _wants_context(handler) else handler(payload)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _wants_context(handler: Handler) -> bool:
    """Whether it has a second parameter that must be given, or one that is called context."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):  # not written in Python
        return False
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].default is inspect.Parameter.empty or positional[1].name == "context")


def _context(fields: Mapping[str, Any]) -> Context:
    return Context(**{**fields, "fire_time": datetime.fromisoformat(fields["fire_time"])})


def _raised(error: BaseException) -> Mapping[str, Any]:
    name = type(error).__name__
    failure = _failure(_text(error) or name, name, retryable=not isinstance(error, NonRetryable))
    return {**failure, "retry_after_ms": int(error.seconds * 1000)} if isinstance(error, RetryAfter) else failure


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error that cannot say what it is
        return ""


def _failure(error: str, error_class: str, *, retryable: bool) -> Mapping[str, Any]:
    return {"ok": False, "error": error[:_MAX_ERROR], "error_class": error_class[:100], "retryable": retryable}


if __name__ == "__main__":
    main()
