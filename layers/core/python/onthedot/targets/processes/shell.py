"""The performer of shell targets: it runs a program without a shell, without the worker's secrets, and in time."""

import errno
import logging
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Final, Self

from onthedot.core.clock import format_instant
from onthedot.core.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.core.progress import LatestProgress, ProgressReport, short_text
from onthedot.targets.answers import attempt_facts, printable, refused, result_text, stopped, timed_out
from onthedot.targets.countdown import interruptible
from onthedot.targets.processes.supervised import PROGRESS_FD, Supervised, make_private
from onthedot.targets.types import ShellTarget

_CHUNK: Final = 64 * 1024
_LOOKED_AT: Final = 10
"""Lines at the end of a chunk in which the latest report is looked for. A program may write nonsense without end."""
_LINE_EXCERPT: Final = 100
MAX_LINE: Final = 1024
"""Bytes of a program's line. The rest of a longer line is dropped."""
_UNKNOWN: Final = b"-"
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
            excerpt = printable(line.decode("utf-8", errors="replace"), _LINE_EXCERPT)
            _LOG.warning("bad_progress: run %s wrote %r; a report looks like `0.42 rows 420`", self._run_id, excerpt)
        return report is not None


_COMPLAINT_BYTES: Final = 4096
"""Bytes at the end of standard error that are kept."""
_DRAIN_SECONDS: Final = 0.5
"""How long the streams of an ended program are still read. Another process may hold them open forever."""


@dataclass(frozen=True, slots=True)
class Output:
    result: bytes
    """The beginning of its standard output."""
    complaint: bytes
    """The end of its standard error."""
    out_of_time: bool
    """Whether it was asked to end because its time was over."""


class _Excerpt:
    """The beginning or the end of a stream. The rest is dropped."""

    def __init__(self, limit: int, *, tail: bool) -> None:
        self._limit, self._tail = limit, tail
        self.content = bytearray()

    def add(self, chunk: bytes) -> None:
        if self._tail:
            self.content += chunk
            del self.content[: -self._limit]
        else:
            self.content += chunk[: self._limit - len(self.content)]


class _Exchange:
    """It feeds and drains a program, and reads its reports, until the program ends or its time is over."""

    def __init__(self, program: Supervised, payload: bytes, seconds: float, reports: ReportedLines) -> None:
        ending = min(2.0, seconds / 10)
        self._ask_at = time.monotonic() + seconds - ending
        self._end_at = self._ask_at + ending * 3 / 4
        self._out_of_time = self._ended = False
        self._program = program
        self._reports = reports
        self._input, output, complaint = program.streams
        self._left = memoryview(payload)
        self._excerpts = {output: _Excerpt(RESULT_BYTES, tail=False), complaint: _Excerpt(_COMPLAINT_BYTES, tail=True)}
        self._streams = selectors.DefaultSelector()

    def run(self) -> Output:
        with self._streams:
            self._streams.register(self._program.socket, selectors.EVENT_READ, self._read_status)
            self._streams.register(self._reports, selectors.EVENT_READ, self._read_reports)
            for stream in self._excerpts:
                self._watch(stream, selectors.EVENT_READ, partial(self._drain, stream))
            if self._left:
                self._watch(self._input, selectors.EVENT_WRITE, self._feed)
            else:
                self._input.close()
            self._until_it_ends()
        result, complaint = (bytes(excerpt.content) for excerpt in self._excerpts.values())
        return Output(result, complaint, self._out_of_time)

    def _watch(self, stream: IO[bytes], events: int, serve: Callable[[], None]) -> None:
        os.set_blocking(stream.fileno(), False)
        self._streams.register(stream, events, serve)

    def _until_it_ends(self) -> None:
        while self._streams.get_map() and (now := time.monotonic()) < self._end_at:
            if self._ask_at <= now and not self._ended:
                self._ask_at, self._out_of_time = self._end_at, True
                self._program.ask_to_end()
            for key, _ in self._streams.select(min(self._ask_at, self._end_at) - now):
                key.data()

    def _read_status(self) -> None:
        if self._program.read_status():
            return
        self._streams.unregister(self._program.socket)
        self._stop_reading_reports()
        self._ended = True
        self._end_at = self._ask_at = min(self._end_at, time.monotonic() + _DRAIN_SECONDS)

    def _read_reports(self) -> None:
        if not self._reports.read():
            self._stop_reading_reports()

    def _stop_reading_reports(self) -> None:
        if self._reports in {key.fileobj for key in self._streams.get_map().values()}:
            self._streams.unregister(self._reports)

    def _feed(self) -> None:
        try:
            self._left = self._left[os.write(self._input.fileno(), self._left[:_CHUNK]) :]
        except BrokenPipeError:  # the program does not read all of it
            self._left = self._left[:0]
        if not self._left:
            self._streams.unregister(self._input)
            self._input.close()

    def _drain(self, stream: IO[bytes]) -> None:
        if chunk := os.read(stream.fileno(), _CHUNK):
            self._excerpts[stream].add(chunk)
        else:
            self._streams.unregister(stream)


_FINAL_EXITS: Final = frozenset({os.EX_USAGE, 126, 127})
"""Wrong usage, cannot be executed, not found: another attempt would end the same way."""
_NOT_FOUND: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_BAD_ARGV: Final = frozenset({errno.E2BIG, errno.EINVAL})
_EXCERPT: Final = 500


class ShellRunner(Performer):
    """A performer of shell targets. It is safe to use from several threads.

    The payload is the program's standard input, its output is the result, and the end of its standard error is the
    error. It gets a directory of its own, which is also its home and is removed afterwards, and a new environment.
    When it ends, all processes that it started end too. They also end with the worker, even if that is killed.

    The last tenth of the timeout, two seconds at most, is for ending. The program's group gets SIGTERM when it
    begins, and SIGKILL when three quarters of it are over.
    """

    def __init__(self) -> None:
        # The program runs as the same user, and could otherwise read the secrets in the worker's environment.
        make_private()

    def perform(self, call: Call) -> Answer:
        assert isinstance(call.definition.target, ShellTarget)
        argv = call.definition.target.argv
        if not argv or not argv[0]:
            return refused("argv names no program", "bad_argv")
        if call.stop.reason is not None:
            return stopped(call)
        try:
            with tempfile.TemporaryDirectory(prefix="onthedot-", ignore_cleanup_errors=True) as directory:
                return _judge(call, argv[0], *_run(call, argv, directory))
        except OSError as error:
            if error.errno in _BAD_ARGV:
                return refused("argv is too long, or contains a NUL or invalid text", "bad_argv")
            return Answer(ok=False, error=f"the program cannot be started: {error.strerror}", error_class="not_started")


def _run(call: Call, argv: tuple[str, ...], directory: str) -> tuple[str, Output]:
    end_at = time.monotonic() + call.timeout_ms / 1000
    with ReportedLines(call.run_id, call.progress) as reports:
        program = _start(argv, directory, _environment(call, directory), reports)
        try:
            with interruptible(call.stop, program.ask_to_end):
                output = _Exchange(program, call.payload, end_at - time.monotonic(), reports).run()
        finally:
            status = program.end()
    return status, output


def _start(argv: tuple[str, ...], directory: str, environment: Mapping[str, str], reports: ReportedLines) -> Supervised:
    pipe = subprocess.PIPE
    try:
        with reports.writing_end() as progress:
            return Supervised(
                argv,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                directory=directory,
                environment=environment,
                progress=progress,
            )
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error


def _environment(call: Call, directory: str) -> Mapping[str, str]:
    """Return the program's whole environment. Its home is not the worker's, where credentials may be."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": directory,
        "TMPDIR": directory,
        "ONTHEDOT_PROGRESS_FD": str(PROGRESS_FD),
        **{f"ONTHEDOT_{name.upper()}": value for name, value in attempt_facts(call).items()},
        **({"ONTHEDOT_DEADLINE": format_instant(call.started_at + call.timeout_ms)} if call.started_at else {}),
    }


def _judge(call: Call, name: str, status: str, output: Output) -> Answer:
    kind, _, number = status.partition(" ")
    if call.stop.reason is not None:
        return stopped(call)
    if output.out_of_time:
        return timed_out(call, "running the program")
    match kind:
        case "exit" if number == "0":
            return Answer(ok=True, result=result_text(output.result.rstrip(b"\n")))
        case "exit" | "signal":
            final = kind == "exit" and int(number) in _FINAL_EXITS
            return _failed(output, f"{kind} {number}", f"{kind}_{number}", retryable=not final)
        case "cannot":
            error = printable(f"cannot run {name}: {os.strerror(int(number))}", _EXCERPT)
            return refused(error, "not_found" if int(number) in _NOT_FOUND else "not_executable")
        case _:
            return Answer(ok=False, error="the program's supervisor died", error_class="lost", lost=True)


def _failed(output: Output, error: str, error_class: str, *, retryable: bool) -> Answer:
    excerpt = printable(output.complaint.decode("utf-8", errors="replace")[-_EXCERPT:], _EXCERPT)
    return Answer(
        ok=False, error=f"{error}: {excerpt}" if excerpt else error, error_class=error_class, retryable=retryable
    )


def report_in(line: bytes) -> ProgressReport | None:
    """Return the report in a program's line, such as `0.42 rows 420 of 1,000`, or `- …` without a fraction."""
    word, _, rest = line.strip().partition(b" ")
    text = short_text(rest.decode("utf-8", errors="replace"))
    if word == _UNKNOWN and text is not None:
        return ProgressReport(None, text)
    try:
        fraction = float(word)
    except ValueError:
        return None
    return ProgressReport(fraction, text) if 0 <= fraction <= 1 else None
