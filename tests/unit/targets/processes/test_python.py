"""`@job` handlers as targets: their arguments and results, their reports, and the processes they run in."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.core.progress import ProgressReport
from onthedot.core.stopping import Stop
from onthedot.jobs import Context
from onthedot.targets.processes.python_runner import FEW, PythonRunner
from onthedot.targets.types import PythonTarget
from tests.unit.targets.kit import NOW, a_call_of, asking_when_it_runs, runs, side_by_side, until

APP = "tests.unit.targets.processes.python_app"


def a_call(
    handler: str, payload: Any = None, *, raw: bytes | None = None, timeout_ms: int = 30_000, stop: Stop | None = None
) -> Call:
    return a_call_of(PythonTarget(handler), json.dumps(payload).encode() if raw is None else raw, timeout_ms, stop)


@pytest.fixture(scope="module")
def runner() -> Iterator[PythonRunner]:
    with PythonRunner(APP) as runner:
        yield runner


@pytest.mark.parametrize(
    ("handler", "payload", "result"),
    [
        ("echo", {"a": [1, 2.5, None, "é\u2028\n"]}, {"a": [1, 2.5, None, "é\u2028\n"]}),
        ("optional", "ab", "abab"),
        ("coroutine", "x", ["x", 2]),
        ("context", None, ["job-3", "run-7", 2, "run-7", "2026-01-01T00:00:00.123000+00:00"]),
    ],
)
def test_the_payload_is_the_argument_and_what_is_returned_the_result(
    runner: PythonRunner, handler: str, payload: Any, result: Any
) -> None:
    """A handler that asks for the context gets it. An option is not taken for the context. Coroutines are awaited."""
    answer = runner.perform(a_call(handler, payload))
    assert (answer.ok, json.loads(answer.result or "")) == (True, result)


@pytest.mark.parametrize("raw", [b"null", b""])
def test_a_handler_that_returns_nothing_has_no_result(runner: PythonRunner, raw: bytes) -> None:
    assert runner.perform(a_call("echo", raw=raw)) == Answer(ok=True)


@pytest.mark.parametrize(
    ("handler", "payload", "failure"),
    [
        ("raise", {"kind": "KeyError", "text": "no such user"}, ("'no such user'", "KeyError", True)),
        ("raise", {"kind": "SystemExit", "text": "bye"}, ("bye", "SystemExit", True)),
        ("raise", {"kind": "SystemExit", "text": "half a pair: \ud800"}, ("half a pair: ?", "SystemExit", True)),
        ("raise", {"kind": "NonRetryable", "text": "never"}, ("never", "NonRetryable", False)),
        ("speechless", None, ("Speechless", "Speechless", True)),
        ("nope", None, ("the app has no handler 'nope'", "unknown_handler", False)),
    ],
    ids=ascii,
)
def test_an_exception_is_a_failure_with_its_class_and_text(
    runner: PythonRunner, handler: str, payload: Any, failure: tuple[str, str, bool]
) -> None:
    answer = runner.perform(a_call(handler, payload))
    assert answer == Answer(False, None, *failure)


@pytest.mark.parametrize(("seconds", "milliseconds"), [(1.5, 1500), (0, 0), (10**9, 86_400_000), (-1, None)])
def test_a_handler_says_when_to_try_again(runner: PythonRunner, seconds: float, milliseconds: int | None) -> None:
    answer = runner.perform(a_call("later", seconds))
    assert (answer.ok, answer.retryable, answer.retry_after_ms) == (False, True, milliseconds)


@pytest.mark.parametrize("what", ["object", "nan", "loop", "set", "key"])
def test_a_result_that_is_no_json_is_not_tried_again(runner: PythonRunner, what: str) -> None:
    answer = runner.perform(a_call("no-json", what))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "bad_result")


def test_a_long_result_is_cut(runner: PythonRunner) -> None:
    answer = runner.perform(a_call("long", 5 * RESULT_BYTES))
    assert (answer.ok, len(answer.result or "")) == (True, RESULT_BYTES)


def test_a_large_payload_arrives_whole(runner: PythonRunner) -> None:
    assert runner.perform(a_call("echo", "x" * 5_000_000)).ok


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


def test_there_are_as_many_processes_as_calls_at_the_same_time_and_they_are_used_again(tmp_path: Path) -> None:
    pids = []
    with PythonRunner(APP) as runner:
        for folder in (tmp_path / "first", tmp_path / "second"):
            folder.mkdir()
            call = a_call("together", {"folder": str(folder), "expected": 4})
            pids.append(pids_of(runner, call, 4))
    first, second = pids
    assert (len(first), first) == (4, second)


def pids_of(runner: PythonRunner, call: Call, number: int) -> set[int]:
    """Return the processes that run so many calls at the same time."""
    return {int(answer.result or "") for answer in side_by_side(number, lambda _: runner.perform(call))}


def test_a_process_outlives_the_thread_whose_call_started_it() -> None:
    # The kernel treats the end of the thread that started a process as the end of its parent.
    with PythonRunner(APP) as runner:
        thread = threading.Thread(target=runner.perform, args=(a_call("pid"),))
        thread.start()
        thread.join()
        pid = runner.perform(a_call("pid")).result
        for _ in range(3):
            assert runner.perform(a_call("pid")).result == pid


def test_handlers_that_do_not_end_hold_up_no_others(tmp_path: Path) -> None:
    """More of them than quick handlers share processes. The others end while all of these still run."""
    stop = Stop()
    with PythonRunner(APP) as runner, ThreadPoolExecutor(FEW + 14) as callers:
        endless = [
            callers.submit(runner.perform, a_call("reports-until-cancelled", "begun", stop=stop))
            for _ in range(FEW + 4)
        ]
        quick = [callers.submit(runner.perform, a_call("echo", number)) for number in range(40)]
        assert [answer.result(60).result for answer in quick] == [str(number) for number in range(40)]
        assert not any(answer.done() for answer in endless)
        stop.ask("enough")


def test_only_so_many_idle_processes_are_kept(tmp_path: Path) -> None:
    with PythonRunner(APP, warm=1) as runner:
        pids = pids_of(runner, a_call("together", {"folder": str(tmp_path), "expected": 3}), 3)
        until(lambda: sum(map(runs, pids)) == 1)
    assert not any(map(runs, pids))


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


def test_the_latest_report_of_a_handler_counts(runner: PythonRunner) -> None:
    call = a_call("reports", [[0.1, "one"], [None, "two"], [0.42, "rows 420 of 1,000"]])
    assert runner.perform(call) == Answer(ok=True, result="3")
    assert call.progress.latest == ProgressReport(0.42, "rows 420 of 1,000")


def test_a_report_is_known_while_the_handler_runs(runner: PythonRunner) -> None:
    call = a_call("reports-until-cancelled", "half")
    thread = threading.Thread(target=runner.perform, args=(call,))
    thread.start()
    while call.progress.latest is None and thread.is_alive():
        time.sleep(0.01)
    assert thread.is_alive()
    call.stop.ask("seen")
    thread.join()
    assert call.progress.latest == ProgressReport(0.5, "half")


def test_a_flood_of_reports_is_cheap_and_is_not_taken_for_those_of_the_next_run(runner: PythonRunner) -> None:
    assert runner.perform(a_call("reports-without-end", 200_000)).ok
    following = a_call("echo", 1)
    assert runner.perform(following).result == "1"
    assert following.progress.latest is None


def test_reports_that_are_none_are_ignored(runner: PythonRunner) -> None:
    call = a_call("garbage-as-progress")
    assert runner.perform(call) == Answer(ok=True, result='"done"')
    assert call.progress.latest == ProgressReport(0.25, "good")


def test_a_process_that_a_handler_forked_may_report_and_is_not_heard(runner: PythonRunner) -> None:
    call = a_call("forks")
    assert runner.perform(call).result == "7"
    assert call.progress.latest in (None, ProgressReport(0.5, "parent"))


def test_a_handler_that_is_asked_to_stop_may_end_in_order(tmp_path: Path) -> None:
    stop = Stop()
    asking = asking_when_it_runs(stop, tmp_path / "a")
    with PythonRunner(APP) as runner:
        assert runner.perform(a_call("until-cancelled", str(tmp_path), stop=stop)) == Answer(
            ok=True, result='"cleaned up"'
        )
    asking.join()


def test_a_handler_knows_its_times(runner: PythonRunner) -> None:
    call = replace(a_call("whole-context", timeout_ms=30_000), started_at=NOW + 1500)
    assert json.loads(runner.perform(call).result or "") == [
        "2026-01-01T00:00:01.623000+00:00",
        "2026-01-01T00:00:31.623000+00:00",
        1.5,
    ]


def test_a_context_that_a_test_makes_needs_no_worker() -> None:
    fire_time = datetime(2026, 1, 1, tzinfo=UTC)
    context = Context("job", "run", 1, "key", fire_time)
    context.progress(0.5, "half")
    assert not context.cancelled
