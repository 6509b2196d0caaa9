"""Handlers report their progress, know their times, and learn that they are to stop."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from onthedot.core.ports import Answer
from onthedot.core.progress import ProgressReport
from onthedot.core.stopping import Stop
from onthedot.jobs import Context
from onthedot.targets.processes.python_runner import PythonRunner
from tests.unit.targets.calls import NOW
from tests.unit.targets.process_watch import asking_when_it_runs
from tests.unit.targets.processes.test_python import APP, a_call


@pytest.fixture(scope="module")
def runner() -> Iterator[PythonRunner]:
    with PythonRunner(APP) as runner:
        yield runner


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


def test_a_flood_of_reports_is_cheap_and_leaves_the_process_usable(runner: PythonRunner) -> None:
    call = a_call("reports-without-end", 200_000)
    assert runner.perform(call).ok
    assert runner.perform(a_call("echo", 1)).result == "1"


def test_a_report_of_one_run_is_not_taken_for_the_next_one(runner: PythonRunner) -> None:
    assert runner.perform(a_call("reports-without-end", 10)).ok
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
    context = Context("job", "run", 1, "key", fire_time, started_at=fire_time + timedelta(seconds=2))
    context.progress(0.5, "half")
    assert (context.cancelled, context.lateness) == (False, timedelta(seconds=2))
    assert context.deadline == fire_time + timedelta(seconds=62)
