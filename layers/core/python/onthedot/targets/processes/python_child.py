"""Run an app's handlers, one at a time: `python -m …python_child private|open <app>`.

This process and the worker exchange lines of JSON over a socket, which is the standard input at the start. The first
line names the app's handlers, or says why the app cannot be imported. Then each run gets one answer, and lines before
it report its progress. The supervisor ends this process when the worker dies. It sends SIGTERM when a run is to stop,
and SIGKILL two seconds later. The handlers' standard output goes where the worker's standard error goes.
"""

import importlib
import json
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from onthedot.handlers import NonRetryable, RetryAfter, handlers
from onthedot.targets.processes.handler_calls import HandlerLink, run_handler, takes_context
from onthedot.targets.processes.supervised import make_private
from onthedot.targets.redaction import redacted

_ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM


def main() -> None:
    """Import the app, then run handlers until the worker closes the socket."""
    privacy, app = sys.argv[1:]
    if privacy == "private":  # the worker is private, and this process has its environment
        make_private()
    worker = _take_socket()
    runs = _receive_runs(worker)
    stop = _StopRequests()
    _send(worker, _import(app))
    while True:
        message = json.loads(runs.get())
        link = HandlerLink(partial(_send, worker))
        with stop.passed_to(link if takes_context(message["handler"]) else None):
            reply = run_handler(message, _log, link=link)
        link.end(reply)


class _StopRequests:
    """The requests to stop, as SIGTERM. A handler that has no context cannot learn of one, so it ends at once."""

    def __init__(self) -> None:
        self._link: HandlerLink | None = None
        signal.signal(signal.SIGTERM, self._receive)

    @contextmanager
    def passed_to(self, link: HandlerLink | None) -> Iterator[None]:
        self._link = link
        try:
            yield
        finally:
            self._link = None

    def _receive(self, *_: object) -> None:
        if self._link is None:
            os._exit(_ENDED_BY_SIGTERM)
        self._link.stop_requested = True


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
