"""The performer of shell targets: it runs a program without a shell, without the worker's secrets, and in time."""

import errno
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Final

from onthedot.domain.instants import format_instant
from onthedot.domain.targets.types import ShellTarget
from onthedot.ports import Answer, Call, Performer
from onthedot.targets.answers import printable, refused, result_text, stopped, timed_out
from onthedot.targets.attempt_facts import attempt_facts
from onthedot.targets.interruptible import interruptible
from onthedot.targets.processes.private_process import make_private
from onthedot.targets.processes.reported_lines import ReportedLines
from onthedot.targets.processes.shell_streams import Output, exchange
from onthedot.targets.processes.supervised import PROGRESS_FD, Supervised

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

    The last tenth of the time-out, two seconds at most, is for ending. The program's group gets SIGTERM when it
    begins, and SIGKILL when three quarters of it are over.
    """

    def __init__(self) -> None:
        # The program runs as the same user, and could otherwise read the secrets in the worker's environment.
        make_private()

    def perform(self, call: Call) -> Answer:
        """Run the program within the call's time-out and judge how it ended."""
        assert isinstance(call.definition.target, ShellTarget)
        argv = call.definition.target.argv
        if not argv or not argv[0]:
            return refused("argv names no program", "bad_argv")
        if call.stop.reason is not None:
            return stopped(call)
        try:
            with _directory() as directory:
                return _judge(call, argv[0], *_run(call, argv, directory))
        except OSError as error:
            if error.errno in _BAD_ARGV:
                return refused("argv is too long, or holds a NUL or invalid text", "bad_argv")
            return Answer(ok=False, error=f"cannot be started: {error.strerror}", error_class="not_started")


def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="onthedot-", ignore_cleanup_errors=True)


def _run(call: Call, argv: tuple[str, ...], directory: str) -> tuple[str, Output]:
    """Run the program, and return how it ended with its output."""
    end_at = time.monotonic() + call.timeout_ms / 1000
    with ReportedLines(call.run_id, call.progress) as reports:
        program = _start(argv, directory, _environment(call, directory), reports)
        try:
            with interruptible(call.stop, program.ask_to_end):
                output = exchange(program, call.payload, end_at - time.monotonic(), reports)
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
