"""`@job` handlers as targets: their arguments, and the answers that their results and errors mean."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.core.records import Definition
from onthedot.core.stopping import Stop
from onthedot.targets.processes.python_runner import PythonRunner
from onthedot.targets.types import PythonTarget
from tests.unit.targets.process_watch import runs, until

APP = "tests.unit.targets.processes.python_app"
NOW = 1_767_225_600_123
"""2026-01-01T00:00:00.123Z."""


def a_call(
    handler: str, payload: Any = None, *, raw: bytes | None = None, timeout_ms: int = 30_000, stop: Stop | None = None
) -> Call:
    return Call(
        run_id="run-7",
        job_id="job-3",
        attempt=2,
        nominal_at=NOW,
        definition=Definition(target=PythonTarget(handler)),
        payload=json.dumps(payload).encode() if raw is None else raw,
        timeout_ms=timeout_ms,
        stop=stop or Stop(),
    )


@pytest.fixture(scope="module")
def runner() -> Iterator[PythonRunner]:
    with PythonRunner(APP) as runner:
        yield runner


def test_the_payload_is_the_argument_and_what_is_returned_the_result(runner: PythonRunner) -> None:
    payload = {"a": [1, 2.5, None, "é\u2028\n"]}
    answer = runner.perform(a_call("echo", payload))
    assert (answer.ok, json.loads(answer.result or "")) == (True, payload)


def test_a_handler_that_returns_nothing_has_no_result(runner: PythonRunner) -> None:
    assert runner.perform(a_call("echo", None)) == Answer(ok=True)
    assert runner.perform(a_call("echo", raw=b"")) == Answer(ok=True)


def test_a_handler_that_wants_to_know_gets_the_context(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("context"))
    assert json.loads(answer.result or "") == ["job-3", "run-7", 2, "run-7", "2026-01-01T00:00:00.123000+00:00"]


def test_an_option_of_a_handler_is_not_taken_for_the_context(runner: PythonRunner) -> None:
    assert runner.perform(a_call("optional", "ab")).result == '"abab"'


def test_coroutines_are_awaited(runner: PythonRunner) -> None:
    assert runner.perform(a_call("coroutine", "x")).result == '["x", 2]'


def test_an_exception_is_a_failure_that_is_tried_again(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("raise", {"kind": "KeyError", "text": "no such user"}))
    assert answer == Answer(ok=False, error="'no such user'", error_class="KeyError", retryable=True)


def test_an_exit_is_an_exception_like_others(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("raise", {"kind": "SystemExit", "text": "bye"}))
    assert answer == Answer(ok=False, error="bye", error_class="SystemExit", retryable=True)


def test_an_exception_that_cannot_say_what_it_is_is_named(runner: PythonRunner) -> None:
    assert runner.perform(a_call("speechless")) == Answer(ok=False, error="Speechless", error_class="Speechless")


def test_half_a_character_in_an_exception_does_not_get_into_records(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("raise", {"kind": "SystemExit", "text": "a\ud800b"}))
    assert answer.error == "a?b"


def test_non_retryable_means_it(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("raise", {"kind": "NonRetryable", "text": "never"}))
    assert answer == Answer(ok=False, error="never", error_class="NonRetryable", retryable=False)


@pytest.mark.parametrize(("seconds", "milliseconds"), [(1.5, 1500), (0, 0), (10**9, 86_400_000)])
def test_a_handler_says_when_to_try_again(runner: PythonRunner, seconds: float, milliseconds: int) -> None:
    answer = runner.perform(a_call("later", seconds))
    assert (answer.ok, answer.retryable, answer.retry_after_ms) == (False, True, milliseconds)


def test_a_time_to_try_again_that_is_none_is_the_handlers_error(runner: PythonRunner) -> None:
    assert runner.perform(a_call("later", -1)).error_class == "ValueError"


@pytest.mark.parametrize("what", ["object", "nan", "loop", "set", "key"])
def test_a_result_that_is_no_json_is_not_tried_again(runner: PythonRunner, what: str) -> None:
    answer = runner.perform(a_call("no-json", what))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "bad_result")
    assert (answer.error or "").startswith("the handler's result is not JSON: ")


def test_a_long_result_is_cut(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("long", 5 * RESULT_BYTES))
    assert (answer.ok, len(answer.result or "")) == (True, RESULT_BYTES)


def test_a_large_payload_arrives_whole(runner: PythonRunner) -> None:
    assert runner.perform(a_call("echo", "x" * 5_000_000)).ok


def test_a_handler_that_is_not_there_is_not_tried_again(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("nope"))
    assert answer == Answer(
        ok=False, error="the app has no handler 'nope'", error_class="unknown_handler", retryable=False
    )


@pytest.mark.parametrize("raw", [b"{", b"\xff"])
def test_a_payload_that_is_no_json_is_refused(runner: PythonRunner, raw: bytes) -> None:
    answer = runner.perform(a_call("echo", raw=raw))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "bad_payload")


def test_what_a_handler_prints_goes_to_the_workers_log(runner: PythonRunner, capfd: pytest.CaptureFixture[str]) -> None:
    with PythonRunner(APP) as own:
        assert own.perform(a_call("print")) == Answer(ok=True, result='"said"')
        assert own.perform(a_call("echo", 1)).result == "1"
    out, err = capfd.readouterr()
    assert (out, err.splitlines()) == ("", ['{"ok": false}', "\ufffd", "raw"])


def test_one_process_serves_one_call_after_the_other() -> None:
    with PythonRunner(APP) as runner:
        assert len({runner.perform(a_call("pid")).result for _ in range(5)}) == 1


def test_there_are_as_many_processes_as_calls_at_the_same_time_and_they_are_used_again(tmp_path: Path) -> None:
    answers: list[Answer] = []
    with PythonRunner(APP) as runner:
        for folder in (tmp_path / "first", tmp_path / "second"):
            folder.mkdir()
            call = a_call("together", {"folder": str(folder), "expected": 4})
            threads = [
                threading.Thread(target=lambda call=call: answers.append(runner.perform(call))) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    first, second = ({answer.result for answer in part} for part in (answers[:4], answers[4:]))
    assert all(answer.ok for answer in answers)
    assert (len(first), first) == (4, second)


def test_a_process_outlives_the_thread_whose_call_started_it() -> None:
    # The kernel treats the end of the thread that started a process as the end of its parent.
    with PythonRunner(APP) as runner:
        thread = threading.Thread(target=runner.perform, args=(a_call("pid"),))
        thread.start()
        thread.join()
        pid = runner.perform(a_call("pid")).result
        for _ in range(3):
            assert runner.perform(a_call("pid")).result == pid


def test_only_so_many_idle_processes_are_kept(tmp_path: Path) -> None:
    answers: list[Answer] = []
    with PythonRunner(APP, warm=1) as runner:
        call = a_call("together", {"folder": str(tmp_path), "expected": 3})
        threads = [threading.Thread(target=lambda: answers.append(runner.perform(call))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(runs(int(answer.result or "")) for answer in answers) == 1
    assert not any(runs(int(answer.result or "")) for answer in answers)


def test_an_idle_process_that_died_is_replaced_and_costs_nothing() -> None:
    with PythonRunner(APP) as runner:
        pid = int(runner.perform(a_call("pid")).result or "")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists())
        answer = runner.perform(a_call("pid"))
    assert answer.ok
    assert int(answer.result or "") != pid


@pytest.mark.parametrize(
    ("how", "said"), [("exit", "exit 3"), ("kill", "signal 9"), ("segfault", "signal 11"), ("fork", "signal 9")]
)
def test_a_handler_that_kills_its_process_costs_one_attempt_and_not_the_worker(
    runner: PythonRunner, how: str, said: str
) -> None:
    begun = time.monotonic()
    answer = runner.perform(a_call("die", how))
    assert answer == Answer(ok=False, error=f"the handler's process died: {said}", error_class="lost", lost=True)
    assert time.monotonic() - begun < 25
    assert runner.perform(a_call("echo", 1)) == Answer(ok=True, result="1")


def test_marking_handlers_imports_nothing_heavy() -> None:
    script = "import sys; from onthedot import job, NonRetryable, RetryAfter; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"boto3", "pydantic", "grpc", "asyncio", "http.client", "onthedot.ports"} & set(loaded)
