"""Programs report their progress, whatever they write on the descriptor for it."""

import contextlib
import logging
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from onthedot.core.ports import Answer, Call
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.targets.processes.shell import ShellRunner
from tests.unit.targets.calls import NOW
from tests.unit.targets.processes.test_shell import a_call


def reported(script: str) -> tuple[Answer, ProgressReport | None]:
    call = a_call("sh", "-c", script)
    return ShellRunner().perform(call), call.progress.latest


def test_the_newest_line_of_a_program_counts() -> None:
    answer, report = reported(
        "echo 0.1 one >&$ONTHEDOT_PROGRESS_FD; echo 0.42 rows 420 of 1,000 >&$ONTHEDOT_PROGRESS_FD; sleep 0.2; echo ok"
    )
    assert (answer, report) == (Answer(ok=True, result="ok"), ProgressReport(0.42, "rows 420 of 1,000"))


def test_a_report_is_known_while_the_program_runs() -> None:
    call: Call = a_call("sh", "-c", "echo 0.5 half >&3; cat; sleep 30", timeout_ms=60_000)
    seen: list[ProgressReport | None] = []

    def stop_when_seen() -> None:
        while call.progress.latest is None:
            time.sleep(0.01)
        seen.append(call.progress.latest)
        call.stop.ask("seen")

    watch = threading.Thread(target=stop_when_seen)
    watch.start()
    ShellRunner().perform(call)
    watch.join()
    assert seen == [ProgressReport(0.5, "half")]


def test_bad_lines_are_ignored_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answer, report = reported(
            "echo 0.5 >&3; sleep 0.1; for i in 1 2 3; do echo 42 % >&3; sleep 0.05; done; echo >&3"
        )
    assert (answer.ok, report) == (True, ProgressReport(0.5))
    [record] = caplog.records
    assert record.getMessage().startswith("bad_progress: run run-7 wrote '42 %'")


def test_a_line_without_end_is_bounded() -> None:
    answer, report = reported("printf '0.5 ' >&3; head -c 20000000 /dev/zero | tr '\\0' 'x' >&3; echo >&3; sleep 0.2")
    assert answer.ok
    assert report == ProgressReport(0.5, "x" * MAX_TEXT)


def test_ten_thousand_reports_harm_nothing() -> None:
    answer, report = reported("seq -f '0.%05g row' 10000 99999 | head -n 10000 >&3; echo 1 done >&3; sleep 0.2")
    assert (answer, report) == (Answer(ok=True), ProgressReport(1.0, "done"))


@pytest.mark.parametrize("close", ["exec 3>&-", "exec 3</dev/null", ":"])
def test_a_program_that_does_not_use_the_descriptor_is_not_kept_waiting(close: str) -> None:
    begun = time.monotonic()
    assert reported(f"{close}; echo ok") == (Answer(ok=True, result="ok"), None)
    assert time.monotonic() - begun < 15


def open_files() -> set[str]:
    """Return what the descriptors of this process lead to. Each pipe and each socket has a name of its own."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add(str(descriptor.readlink()))
    return found


def test_no_descriptor_is_left_open_in_the_worker() -> None:
    before = open_files()
    for script in ("echo 0.5 >&3", "exit 3", "exec 3>&-"):
        reported(script)
    ShellRunner().perform(a_call("no-such-program"))
    assert open_files() <= before, "garbage of earlier tests may be closed meanwhile"


def test_a_program_knows_its_deadline() -> None:
    call = replace(a_call("sh", "-c", "echo $ONTHEDOT_DEADLINE"), started_at=NOW)
    assert ShellRunner().perform(call).result == "2026-01-01T00:00:20.123Z"
