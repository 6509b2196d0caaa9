"""The pipe on which a program reports its progress, one line for each report."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from onthedot.domain.runs.progress import MAX_LINE, LatestProgress, report_in
from onthedot.targets.answers import printable

_CHUNK: Final = 64 * 1024
_LOOKED_AT: Final = 10
"""Lines at the end of a chunk in which the latest report is looked for. A program may write nonsense without end."""
_EXCERPT: Final = 100
_LOG: Final = logging.getLogger(__name__)


class ReportedLines:
    """The reading end of the pipe. The latest good line counts. The first bad line is logged."""

    def __init__(self, run_id: str, progress: LatestProgress) -> None:
        self._run_id = run_id
        self._progress = progress
        self._begun = b""
        """The beginning of a line whose end has not come yet."""
        self._has_logged = False
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)

    @contextmanager
    def writing_end(self) -> Iterator[int]:
        """Lend the writing end to the start of the program, and close it in this process afterwards."""
        try:
            yield self._writing
        finally:
            os.close(self._writing)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reading

    def read(self) -> bool:
        """Read what there is. Return False when the program has closed the pipe."""
        try:
            chunk = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return True
        *lines, last = (self._begun + chunk).split(b"\n")
        self._begun = last[:MAX_LINE]
        for line in reversed(lines[-_LOOKED_AT:]):
            if line.strip() and self._is_report(line[:MAX_LINE]):
                break
        return bool(chunk)

    def _is_report(self, line: bytes) -> bool:
        report = report_in(line)
        if report is not None:
            self._progress.report(report)
        elif not self._has_logged:
            self._has_logged = True
            excerpt = printable(line.decode("utf-8", errors="replace"), _EXCERPT)
            _LOG.warning("bad_progress: run %s wrote %r; a report is as `0.42 rows 420`", self._run_id, excerpt)
        return report is not None
