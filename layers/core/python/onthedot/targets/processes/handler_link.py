"""The connection of a running handler with its worker, in the process of the handler."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from onthedot.domain.runs.progress import LatestProgress, ProgressReport
from onthedot.handlers import AttemptLink

REPORT_SECONDS: Final = 0.2
"""The time between two reports that are sent to the worker. Of those made meanwhile only the latest is sent."""


class HandlerLink(AttemptLink):
    """The link of one run. A thread sends the handler's reports. It starts with the first one, and ends with the run.

    `send` sends one message to the worker, or raises OSError.
    """

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._send = send
        self._progress = LatestProgress()
        self._thread: threading.Thread | None = None
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._stop_requested = False

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """Let the handler know that it is to stop."""
        self._stop_requested = True

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
            self._ended.set()
            self._send(reply)

    def _send_reports(self) -> None:
        with contextlib.suppress(OSError):  # the worker has gone, or this is a process that the handler forked
            while not self._ended.wait(REPORT_SECONDS):
                self._send_latest()

    def _send_latest(self) -> None:
        with self._sending:
            report = self._progress.unsent
            if report is not None and not self._ended.is_set():
                self._send({"progress": [report.fraction, report.text]})
                self._progress.mark_sent(report)
