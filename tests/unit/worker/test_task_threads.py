"""One task from its beginning to its report: each is reported once, and a report that fails is logged."""

import logging
import queue
import threading

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.leases import STOP_MARGIN_SECONDS
from onthedot.core.ports import Answer, Performer
from onthedot.core.stopping import Stop
from onthedot.worker.tasks import RunningTasks, TaskThreads
from onthedot.worker.work_source import Task
from tests.unit.worker.kit import FINE, PATIENCE, FakeSource, NoTarget, Seconds, a_task, an_offer


class Scene:
    """A worker's tasks on a clock that sleeping moves on."""

    def __init__(self) -> None:
        self.seconds = Seconds()
        self.source = FakeSource()
        self.running_tasks = RunningTasks(an_offer().resources, self.seconds)
        self.task_threads = TaskThreads(self.source, self.running_tasks, NoTarget(), self.seconds, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.seconds.now += seconds

    def run(self, task: Task) -> None:
        self.task_threads.begin(task)
        assert self.running_tasks.wait_until(lambda: self.running_tasks.is_idle, PATIENCE)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_report_is_repeated_until_it_is_answered(scene: Scene) -> None:
    scene.source.errors = {"report": [Unavailable("away")] * 7}
    scene.run(a_task("a", lease_end=scene.seconds.now + 30))
    assert scene.source.reports == [("a", FINE)]


def test_a_report_without_an_answer_before_the_lease_ends_is_given_up_and_logged(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    began = scene.seconds.now
    scene.source.errors = {"report": [Unavailable("away")] * 1000}
    with caplog.at_level(logging.ERROR):
        scene.run(a_task("a", lease_end=began + 30))
    assert scene.source.reports == []
    assert "report_failed: run a attempt 1" in caplog.text
    assert began + 25 < scene.seconds.now < began + 30


def test_an_attempt_that_was_fenced_off_is_not_reported(scene: Scene) -> None:
    fenced, goes_on = threading.Event(), threading.Event()

    def perform(_: Performer, stop: Stop) -> Answer:
        fenced.set()
        assert goes_on.wait(PATIENCE)
        return FINE

    scene.task_threads.begin(a_task("a", perform))
    assert fenced.wait(PATIENCE)
    [running] = scene.running_tasks.running()
    running.fenced = True
    goes_on.set()
    assert scene.running_tasks.wait_until(lambda: scene.running_tasks.is_idle, PATIENCE)
    assert scene.source.reports == []


def test_one_that_is_left_behind_is_reported_and_its_late_end_says_nothing(scene: Scene) -> None:
    goes_on, ended = threading.Event(), threading.Event()

    def stubborn(_: Performer, stop: Stop) -> Answer:
        assert goes_on.wait(PATIENCE)
        ended.set()
        return FINE

    scene.task_threads.begin(a_task("a", stubborn))
    [running] = scene.running_tasks.running()
    running.ask_to_stop("the worker was stopped", scene.seconds.now)
    assert running.may_report()
    scene.task_threads.abandon(running)
    assert scene.running_tasks.wait_until(lambda: scene.running_tasks.is_idle, PATIENCE)
    goes_on.set()
    assert ended.wait(PATIENCE)
    [(_, answer)] = scene.source.reports
    assert answer.handed_back


def test_a_target_that_breaks_its_promise_fails_its_attempt_and_shows_the_bug(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    bugs: queue.SimpleQueue[threading.ExceptHookArgs] = queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", bugs.put)

    def broken(_: Performer, stop: Stop) -> Answer:
        raise ZeroDivisionError("oops")

    scene.run(a_task("a", broken))
    assert bugs.get(timeout=PATIENCE).exc_type is ZeroDivisionError
    scene.run(a_task("b"))
    assert [(run, answer.ok) for run, answer in scene.source.reports] == [("a", False), ("b", True)]
    assert scene.source.reports[0][1].error_class == "internal"


def test_a_finished_run_is_one_line_in_the_log_without_secrets(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        scene.run(a_task("a", lambda _target, _stop: Answer(ok=False, error="password=hunter2 was wrong")))
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("run a attempt 1 failed in 0.000 s: ")
    assert "hunter2" not in line


def test_a_run_whose_lease_is_about_to_end_when_it_arrives_is_handed_back_unperformed(scene: Scene) -> None:
    performed: list[str] = []

    def perform(_: Performer, __: Stop) -> Answer:
        performed.append("it")
        return FINE

    scene.run(a_task("late", perform, lease_end=scene.seconds.now + STOP_MARGIN_SECONDS))
    [(run_id, answer)] = scene.source.reports
    assert (run_id, answer.handed_back, performed) == ("late", True, [])
