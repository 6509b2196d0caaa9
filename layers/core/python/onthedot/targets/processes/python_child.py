"""Run an app's handlers, one at a time: `python -m …python_child private|open <app>`.

This process and the worker exchange lines of JSON over a socket, which is its standard input at the start. The first
line names the app's handlers, or says why the app cannot be imported. Then each run gets one answer, and lines before
it report its progress. The supervisor ends this process when the worker dies. It sends SIGTERM when a run must stop,
and SIGKILL two seconds later. The handlers' standard output goes where the worker's standard error goes.
"""

import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
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
    stop = _StopRequests()
    _send(worker, _import(app))
    with worker.makefile("rb") as messages:
        for line in messages:
            message = json.loads(line)
            link = HandlerLink(partial(_send, worker))
            stop.link = link if takes_context(message["handler"]) else None
            reply = run_handler(message, _log, link=link)
            stop.link = None
            link.end(reply)
    os._exit(0)  # threads of the handlers do not keep it alive


class _StopRequests:
    """The requests to stop, as SIGTERM. A handler that has no context cannot learn of one, so it ends at once."""

    def __init__(self) -> None:
        self.link: HandlerLink | None = None
        signal.signal(signal.SIGTERM, self._receive)

    def _receive(self, *_: object) -> None:
        if self.link is None:
            os._exit(_ENDED_BY_SIGTERM)
        self.link.stop_requested = True


def _take_socket() -> socket.socket:
    """Return the socket to the worker, and leave an empty standard input to the handlers."""
    worker = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    # A process that a handler forks must not keep the socket open: the worker learns that this process died when the
    # socket closes.
    os.register_at_fork(after_in_child=lambda: os.close(worker.detach()))
    return worker


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
