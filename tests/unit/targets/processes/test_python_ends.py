"""Handlers that must end do: in time, and with the worker. Apps that cannot be used say why."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onthedot import RetryAfter, job
from onthedot.core.errors import OnthedotError
from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from onthedot.targets.processes import python_runner
from onthedot.targets.processes.python_runner import PythonRunner, handlers_of
from tests.unit.targets.kit import asking_when_it_runs, pids_in, runs, until
from tests.unit.targets.processes.test_python import APP, a_call


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an app named `app` in the current directory, where workers look for it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "an_app.py"


@pytest.mark.parametrize("handler", ["sleep", "stuck"])
def test_a_handler_whose_time_is_up_is_killed_with_what_it_started(tmp_path: Path, handler: str) -> None:
    with PythonRunner(APP) as runner:
        assert runner.perform(a_call("echo", 1)).ok
        begun = time.monotonic()
        answer = runner.perform(a_call(handler, str(tmp_path), timeout_ms=1000))
        assert time.monotonic() - begun < 30
        assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "timeout")
        assert runner.perform(a_call("echo", 2)).result == "2"
    assert not any(map(runs, pids_in(*tmp_path.iterdir())))


@pytest.mark.parametrize("handler", ["sleep", "stuck"])
def test_a_handler_that_is_asked_to_stop_ends_at_once(tmp_path: Path, handler: str) -> None:
    stop = Stop()
    asking = asking_when_it_runs(stop, tmp_path / "a")
    with PythonRunner(APP) as runner:
        begun = time.monotonic()
        answer = runner.perform(a_call(handler, str(tmp_path), stop=stop))
        asking.join()
        assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
        assert time.monotonic() - begun < 25
        assert runner.perform(a_call("echo", 2)).result == "2"
    assert not any(map(runs, pids_in(tmp_path / "a")))


def test_a_call_that_was_asked_to_stop_before_it_began_starts_nothing() -> None:
    stop = Stop()
    stop.ask("cancelled")
    with PythonRunner("no.such.app") as runner:
        assert runner.perform(a_call("echo", stop=stop)).error_class == "stopped"


def test_a_stop_that_comes_when_the_call_is_over_harms_nobody() -> None:
    stop = Stop()
    with PythonRunner(APP) as runner:
        pid = runner.perform(a_call("pid", stop=stop)).result
        stop.ask("too late")
        assert runner.perform(a_call("pid")).result == pid


@pytest.mark.parametrize("handler", ["sleep", "stuck"])
def test_a_worker_that_is_killed_takes_its_handlers_with_it(tmp_path: Path, handler: str) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER, handler, str(tmp_path)])
    pids = pids_in(*(tmp_path / name for name in ("ab" if handler == "sleep" else "a")))
    assert all(map(runs, pids))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    until(lambda: not any(map(runs, pids)))


WORKER = """
import sys
from onthedot.targets.processes import python_runner
from onthedot.targets.processes.python_runner import PythonRunner
from tests.unit.targets.processes.test_python import APP, a_call
PythonRunner(APP).perform(a_call(*sys.argv[1:]))
"""


def test_the_handlers_of_an_app_are_listed_without_importing_it_here(app: Path) -> None:
    app.write_text('from onthedot import job\n@job("b")\ndef b(p): ...\n@job("a")\nasync def a(p): ...\n')
    assert handlers_of("an_app") == ["a", "b"]
    assert "an_app" not in sys.modules


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "ModuleNotFoundError: No module named 'an_app'"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import sys; sys.exit('not now')", "SystemExit: not now"),
        ("import os; os._exit(3)", "its process died: exit 3"),
    ],
)
def test_an_app_that_cannot_be_imported_says_why(app: Path, source: str | None, why: str) -> None:
    if source is not None:
        app.write_text(source)
    with pytest.raises(OnthedotError, match=r"^an_app ") as caught:
        handlers_of("an_app")
    assert why in str(caught.value)
    with PythonRunner("an_app") as runner:
        answer = runner.perform(a_call("echo"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "broken_app")
    assert answer.error == str(caught.value)


def test_a_process_that_cannot_be_started_fails_its_call_and_no_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with PythonRunner(APP) as runner:
        with monkeypatch.context() as broken:
            broken.setattr(python_runner, "Supervised", lambda *_, **__: 1 / 0)
            answers = [runner.perform(a_call("echo")) for _ in range(2 * python_runner.STARTING)]
        assert {answer.error_class for answer in answers} == {"not_started"}
        assert runner.perform(a_call("echo", 1)).result == "1"


def test_an_error_in_the_thread_of_the_calls_ends_no_other_call(caplog: pytest.LogCaptureFixture) -> None:
    with PythonRunner(APP) as runner:
        runner._calls.soon(lambda: 1 / 0)  # type: ignore[arg-type]
        assert runner.perform(a_call("echo", 1)).result == "1"
    assert "turn_failed" in caplog.messages


def test_the_time_for_the_import_counts(app: Path) -> None:
    app.write_text("import time; time.sleep(60)")
    with PythonRunner("an_app") as runner:
        answer = runner.perform(a_call("echo", timeout_ms=1000))
    assert answer.error_class == "timeout"
    assert "importing an_app" in (answer.error or "")


def test_one_name_for_two_handlers_is_an_error_that_names_both(app: Path) -> None:
    app.write_text('from onthedot import job\n@job("a")\ndef f(p): ...\n\n@job("a")\ndef g(p): ...\n')
    with pytest.raises(OnthedotError) as caught:
        handlers_of("an_app")
    assert f"two handlers are marked @job('a'): {app}:2 and {app}:5" in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 3, lambda payload: payload])
def test_a_handler_needs_a_name(name: object) -> None:
    with pytest.raises(OnthedotError):
        job(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_wait_must_be_one(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        RetryAfter(seconds)
