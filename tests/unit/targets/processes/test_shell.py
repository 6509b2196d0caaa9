"""Programs as targets: their input, output and reports, and how they end."""

import contextlib
import json
import logging
import os
import signal
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.core.stopping import Stop
from onthedot.targets.processes.shell import ShellRunner
from onthedot.targets.types import ShellTarget
from tests.unit.targets.kit import NOW, a_call_of, side_by_side


def a_call(*argv: str, payload: bytes = b"{}", timeout_ms: int = 20_000, stop: Stop | None = None) -> Call:
    return a_call_of(ShellTarget(argv), payload, timeout_ms, stop)


def ran(*argv: str, payload: bytes = b"{}") -> Answer:
    return ShellRunner().perform(a_call(*argv, payload=payload))


def sh(script: str, payload: bytes = b"{}") -> Answer:
    return ran("sh", "-c", script, payload=payload)


@pytest.mark.parametrize(
    ("argv", "payload", "result"),
    [
        pytest.param(("cat",), b'{"n": 1}', '{"n": 1}', id="payload"),
        pytest.param(("cat",), b"", None, id="no payload"),
        pytest.param(("true",), b"{}", None, id="no output"),
        pytest.param(("sh", "-c", "echo one; echo two; echo"), b"{}", "one\ntwo", id="line ends"),
        pytest.param(("printf", "a\\377b"), b"{}", "a\ufffdb", id="not UTF-8"),
        pytest.param(
            ("printf", "%s|", "$HOME", "a b", "", "*", "; exit 3"),
            b"",
            "$HOME|a b||*|; exit 3|",
            id="no shell in between",
        ),
    ],
)
def test_the_payload_is_the_input_and_the_output_the_result(
    argv: tuple[str, ...], payload: bytes, result: str | None
) -> None:
    assert ran(*argv, payload=payload) == Answer(ok=True, result=result)


def test_a_program_gets_the_span_of_its_attempt() -> None:
    call = replace(a_call("sh", "-c", "echo $ONTHEDOT_TRACEPARENT"), traceparent="00-trace-span-01")
    assert ShellRunner().perform(call).result == "00-trace-span-01"


def test_the_environment_holds_what_is_listed_and_nothing_of_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "ONTHEDOT_TOKEN"]
    for name in (*secrets, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE", "LC_ALL", "PYTHONPATH"):
        monkeypatch.setenv(name, "of the worker")
    monkeypatch.setenv("LANG", "C")
    result = ran("env", "-0").result or ""
    environment = dict(line.split("=", 1) for line in result.rstrip("\0").split("\0"))
    home = environment.pop("HOME")
    assert environment == {
        "PATH": os.environ["PATH"],
        "LANG": "C",
        "TMPDIR": home,
        "ONTHEDOT_JOB": "job-3",
        "ONTHEDOT_RUN": "run-7",
        "ONTHEDOT_ATTEMPT": "2",
        "ONTHEDOT_FIRE_TIME": "2026-01-01T00:00:00.123Z",
        "ONTHEDOT_IDEMPOTENCY_KEY": "run-7",
        "ONTHEDOT_PROGRESS_FD": "3",
    }


def test_no_open_file_of_the_worker_is_inherited() -> None:
    with Path("/etc/hosts").open() as file:
        os.set_inheritable(file.fileno(), True)
        listed = ran("ls", "/proc/self/fd").result or ""
    # One descriptor is for progress, and one belongs to the listing itself.
    assert len(listed.split()) == 5


def test_signals_are_as_a_program_expects_them() -> None:
    # Python ignores SIGPIPE. A program that inherited this would not end when its output is closed. `nohup` ignores
    # other signals.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ignored = sh("grep SigIgn /proc/self/status").result or ""
    finally:
        signal.signal(signal.SIGHUP, before)
    assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 0, "of the 31 that programs know; the rest is the C library's"


def test_it_runs_in_a_new_directory_of_its_own_that_is_removed_with_all_in_it() -> None:
    script = 'echo x > file; mkdir -p locked/in; chmod 500 locked; pwd; stat -c %a .; test "$HOME" = "$PWD"'
    directory, mode = (sh(script).result or "").split()
    assert not Path(directory).exists()
    assert int(mode, 8) == stat.S_IRWXU
    assert (sh(script).result or "").split()[0] != directory


@pytest.mark.parametrize(
    ("end", "error_class", "retryable"),
    [
        *((f"exit {code}", f"exit_{code}", True) for code in (1, 3, 75, 255)),
        *((f"exit {code}", f"exit_{code}", False) for code in (64, 126, 127)),
        ("kill -9 $$", "signal_9", True),
    ],
)
def test_how_a_program_ends_says_whether_to_try_again(end: str, error_class: str, retryable: bool) -> None:
    answer = sh(f"echo result; {end}")
    assert (answer.ok, answer.result, answer.error_class, answer.retryable) == (False, None, error_class, retryable)


def test_the_error_quotes_the_end_of_standard_error() -> None:
    answer = sh("head -c 200000 /dev/zero | tr '\\0' x >&2; printf ' in the\\n\\033[31mend\\n' >&2; exit 3")
    assert (answer.error or "").startswith("exit 3: xxx")
    assert (answer.error or "").endswith("xxx in the ?[31mend")
    assert len(answer.error or "") < 600


def test_a_program_that_is_not_there_or_cannot_be_run_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    for program, error_class in (
        ("no-such-program", "not_found"),
        (str(tmp_path / "data" / "x"), "not_found"),
        (str(tmp_path / "data"), "not_executable"),
        (str(tmp_path), "not_executable"),
    ):
        answer = ran(program)
        assert (answer.ok, answer.retryable, answer.error_class) == (False, False, error_class)
        assert program in (answer.error or "")


@pytest.mark.parametrize("argv", [(), ("",), ("a\0b",), ("echo", "\ud800"), ("echo", "x" * 3_000_000)])
def test_arguments_that_no_program_can_get_are_refused(argv: tuple[str, ...]) -> None:
    answer = ran(*argv)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "bad_argv")


def test_long_output_is_cut_and_the_rest_dropped_so_that_the_program_goes_on() -> None:
    answer = sh(f"head -c {3 * RESULT_BYTES} /dev/zero; echo done >&2; exit 3")
    assert answer.error == "exit 3: done"
    answer = sh(f"yes é | head -c {3 * RESULT_BYTES}")
    assert answer.ok
    assert RESULT_BYTES - 4 <= len((answer.result or "").encode()) <= RESULT_BYTES


def test_a_large_payload_arrives_whole_while_output_flows_back() -> None:
    payload = json.dumps("x" * 5_000_000).encode()
    assert sh("tee copy; wc -c < copy >&2; exit 3", payload=payload).error == f"exit 3: {len(payload)}"


def test_a_payload_that_nobody_reads_does_no_harm() -> None:
    payload = b"x" * 5_000_000
    assert ran("true", payload=payload) == Answer(ok=True)
    assert sh("exec <&-; echo closed", payload=payload).result == "closed"


def test_many_programs_at_the_same_time_do_not_mix_up() -> None:
    runner = ShellRunner()

    def run(number: int) -> Answer:
        return runner.perform(a_call("sh", "-c", f"sleep 0.2; cat; exit {number}", payload=b"x" * 200_000))

    first, *others = side_by_side(12, run)
    assert first == Answer(ok=True, result="x" * 200_000)
    assert [answer.error for answer in others] == [f"exit {number}" for number in range(1, 12)]


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
