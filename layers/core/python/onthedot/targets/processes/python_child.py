"""Run an app's handlers, one at a time: `python -m …python_child private|open <app>`.

This process and the worker exchange lines of JSON over a socket, which is the standard input at the start. The first
line names the app's handlers, or says why the app cannot be imported. Then each run gets one answer. The supervisor
ends this process when the worker dies. The handlers' standard output goes where the worker's standard error goes.
"""

import importlib
import json
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onthedot.domain.targets.redaction import redacted
from onthedot.jobs import NonRetryable, RetryAfter, handlers
from onthedot.targets.processes.handler_calls import run_handler
from onthedot.targets.processes.private_process import make_private


def main() -> None:
    """Import the app, then run handlers until the worker closes the socket."""
    privacy, app = sys.argv[1:]
    if privacy == "private":  # the worker is private, and this process has its environment
        make_private()
    worker = _take_socket()
    runs = _receive_runs(worker)
    _send(worker, _import(app))
    while True:
        _send(worker, run_handler(json.loads(runs.get()), _log))


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


if __name__ == "__main__":
    main()
