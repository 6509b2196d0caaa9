"""Run an app's handlers, one at a time: `python -m …python_child private|open <app>`.

This process and the worker exchange lines of JSON over a socket, which is the standard input at the start. The first
line names the app's handlers, or says why the app cannot be imported. Then each run gets one answer. The supervisor
ends this process when the worker dies. The handlers' standard output goes where the worker's standard error goes.
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
    """Import the app, then run handlers until the worker closes the socket."""
    privacy, app = sys.argv[1:]
    if privacy == "private":  # the worker is private, and this process has its environment
        make_private()
    worker = _take_socket()
    runs = _receive_runs(worker)
    _send(worker, _import(app))
    while True:
        _send(worker, _run(json.loads(runs.get())))


def _take_socket() -> socket.socket:
    """Return the socket to the worker, and leave an empty standard input to the handlers."""
    worker = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    # A process that a handler forks must not keep the socket open: the worker learns that this process died when the
    # socket closes.
    os.register_at_fork(after_in_child=lambda: os.close(worker.detach()))
    return worker


def _receive_runs(worker: socket.socket) -> "queue.SimpleQueue[bytes]":
    """Receive runs in a thread, which ends this process as soon as the worker closes the socket."""
    runs: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def receive() -> None:
        with worker.makefile("rb") as messages:
            try:
                for message in messages:
                    runs.put(message)
            finally:
                os._exit(0)

    threading.Thread(target=receive, name="onthedot-runs", daemon=True).start()
    return runs


def _send(worker: socket.socket, message: Mapping[str, Any]) -> None:
    worker.sendall(json.dumps(message).encode() + b"\n")


def _import(app: str) -> Mapping[str, Any]:
    try:
        importlib.import_module(app)
    except BaseException as error:  # noqa: BLE001 - any error of the import is the answer
        traceback.print_exc()
        return {"broken": "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]}
    return {"handlers": sorted(handlers())}


def _log(error: BaseException) -> None:
    """Write the traceback, without secrets, for the operator.

    `NonRetryable` and `RetryAfter` are answers of a handler, and need no traceback.
    """
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
    except BaseException as error:  # noqa: BLE001 - any error of a handler is its answer, sys.exit included
        _log(error)
        return _raised(error)
    try:
        # The JSON is ASCII, so it has as many bytes as characters.
        return {"ok": True, "result": None if value is None else json.dumps(value, allow_nan=False)[:RESULT_BYTES]}
    except (TypeError, ValueError, RecursionError) as error:
        return _failure(f"the handler's result is not JSON: {error}", "bad_result", retryable=False)


def _call(handler: Handler, payload: Any, context: Context) -> Any:
    value = handler(payload, context) if _wants_context(handler) else handler(payload)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _wants_context(handler: Handler) -> bool:
    """Return whether the handler's second parameter is required, or is named context."""
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
    except Exception:  # noqa: BLE001 - the error's own __str__ may fail
        return ""


def _failure(error: str, error_class: str, *, retryable: bool) -> Mapping[str, Any]:
    return {"ok": False, "error": error[:_MAX_ERROR], "error_class": error_class[:100], "retryable": retryable}


if __name__ == "__main__":
    main()
