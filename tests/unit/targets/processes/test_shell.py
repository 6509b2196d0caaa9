"""Programs as targets: their input, their output as the result, and how they end."""

import json
import os
import signal
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.core.stopping import Stop
from onthedot.targets.processes.shell import ShellRunner
from onthedot.targets.types import ShellTarget
from tests.unit.targets.calls import a_call_of


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
    runner, answers = ShellRunner(), dict[int, Answer]()

    def run(number: int) -> None:
        answers[number] = runner.perform(a_call("sh", "-c", f"sleep 0.2; cat; exit {number}", payload=b"x" * 200_000))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.pop(0) == Answer(ok=True, result="x" * 200_000)
    assert {number: answer.error for number, answer in answers.items()} == {n: f"exit {n}" for n in range(1, 12)}
