"""The protection of a task on ECS: asked of an agent over real HTTP, in time that the tests move."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.pools import Needs
from onthedot.core.ports import Answer, Performer
from onthedot.core.stopping import Stop
from onthedot.worker import task_protection
from onthedot.worker.task_protection import (
    ON_END_SECONDS,
    PROTECTED_MINUTES,
    RENEW_SECONDS,
    REST_SECONDS,
    RETRY_SECONDS,
    SETTLE_SECONDS,
    EcsAgent,
    TaskProtection,
)
from onthedot.worker.tasks import RunningTask, RunningTasks
from tests.unit.worker.kit import FINE, PATIENCE, FakeSource, Seconds, a_task, an_offer, working

GRACE = 105.0
PROTECT = {"ProtectionEnabled": True, "ExpiresInMinutes": PROTECTED_MINUTES}
RELEASE = {"ProtectionEnabled": False}
BLOCKED = {"failure": {"Arn": "arn:aws:ecs:…:task/workers/1", "Reason": "DEPLOYMENT_BLOCKED"}}
DENIED = {"error": {"Arn": "arn:aws:ecs:…:task/workers/1", "Code": "AccessDeniedException", "Message": "no"}}


@dataclass
class Agent:
    """The agent of ECS. It answers as it does on Fargate, or with what the test wants."""

    uri: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    answers: list[tuple[int, bytes]] = field(default_factory=list)

    def refuse(self, status: int, answer: Any) -> None:
        self.answers.append((status, answer if isinstance(answer, bytes) else json.dumps(answer).encode()))

    def answer(self, wanted: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(wanted)
        if self.answers:
            return self.answers.pop(0)
        protection = {"ProtectionEnabled": wanted["ProtectionEnabled"], "TaskArn": "arn:aws:ecs:…:task/workers/1"}
        return 200, json.dumps({"protection": protection}).encode()


@contextmanager
def an_agent() -> Iterator[Agent]:
    agent = Agent()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            agent.paths.add(self.path)
            content = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = agent.answer(json.loads(content))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        agent.uri = f"http://127.0.0.1:{server.server_port}/api/abc"
        yield agent
        server.shutdown()


class Scene:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.seconds = Seconds()
        self.tasks = RunningTasks(an_offer().resources, self.seconds)
        self.protection = TaskProtection(EcsAgent(agent.uri), self.tasks, GRACE, self.seconds)

    def running(self, seconds: float = 7200) -> RunningTask:
        return self.tasks.add(a_task(needs=Needs(frozenset(), seconds=int(seconds))))

    def rests(self) -> bool:
        return self.protection.is_resting

    def look_after(self, seconds: float) -> list[dict[str, Any]]:
        """What the agent is asked by a look after this time."""
        self.seconds.now += seconds
        before = len(self.agent.asked)
        self.protection.look()
        return self.agent.asked[before:]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with an_agent() as agent:
        yield Scene(agent)


def test_a_task_is_protected_from_its_first_long_run_until_it_had_none_for_a_while(scene: Scene) -> None:
    assert scene.look_after(0) == []
    first = scene.running()
    assert scene.look_after(2) == [PROTECT]
    assert scene.agent.paths == {"/api/abc/task-protection/v1/state"}
    second = scene.running()
    scene.tasks.remove(first)
    assert scene.look_after(2) == []
    scene.tasks.remove(second)
    assert scene.look_after(SETTLE_SECONDS - 1) == []
    assert scene.look_after(1) == [RELEASE]
    assert scene.look_after(1000) == []


def test_a_run_that_ends_within_the_grace_needs_no_protection(scene: Scene) -> None:
    scene.running(seconds=GRACE)
    assert scene.look_after(2) == []
    scene.running(seconds=GRACE + 1)
    assert scene.look_after(2) == [PROTECT]


def test_a_protection_is_renewed_long_before_its_end(scene: Scene) -> None:
    scene.running()
    scene.look_after(0)
    assert scene.look_after(RENEW_SECONDS - 1) == []
    assert scene.look_after(1) == [PROTECT]
    assert RENEW_SECONDS + 10 * RETRY_SECONDS < 60 * PROTECTED_MINUTES


@pytest.mark.parametrize(
    ("status", "answer"), [(200, BLOCKED), (400, DENIED), (500, b"oops"), (200, []), (200, {"protection": None})]
)
def test_a_refusal_is_logged_once_and_tried_again(
    scene: Scene, status: int, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    scene.agent.refuse(status, answer)
    scene.agent.refuse(status, answer)
    scene.running()
    assert scene.look_after(0) == [PROTECT]
    assert scene.look_after(RETRY_SECONDS - 1) == []
    assert scene.look_after(1) == [PROTECT]
    assert len([record for record in caplog.records if "task_protection_failed" in record.message]) == 1
    assert scene.look_after(RETRY_SECONDS) == [PROTECT]
    assert scene.look_after(RETRY_SECONDS) == []


def test_an_agent_that_is_away_is_unavailable_and_stops_nothing() -> None:
    with an_agent() as agent:
        uri = agent.uri
    with pytest.raises(Unavailable, match="the ECS agent"):
        EcsAgent(uri).protect()
    scene = Scene(Agent(uri))
    scene.running()
    scene.look_after(0)
    scene.look_after(ON_END_SECONDS)
    assert not scene.rests(), "a task without protection needs no rest"


def test_after_an_hour_the_worker_rests_until_ecs_had_a_minute_to_stop_it(scene: Scene) -> None:
    running = scene.running()
    scene.look_after(0)
    scene.look_after(ON_END_SECONDS - 1)
    assert not scene.rests()
    scene.look_after(1)
    assert scene.rests()
    scene.look_after(RENEW_SECONDS)
    assert scene.agent.asked[-1] == PROTECT, "its present run stays protected"
    scene.tasks.remove(running)
    assert scene.look_after(1) == [RELEASE]
    scene.look_after(REST_SECONDS - 1)
    assert scene.rests()
    scene.look_after(1)
    assert not scene.rests()
    scene.running()
    assert scene.look_after(0) == [PROTECT]


def test_a_worker_rests_no_longer_when_its_protection_cannot_be_released(scene: Scene) -> None:
    running = scene.running()
    scene.look_after(0)
    scene.look_after(ON_END_SECONDS)
    scene.tasks.remove(running)
    scene.agent.refuse(500, b"oops")
    assert scene.look_after(1) == [RELEASE]
    scene.look_after(REST_SECONDS)
    assert not scene.rests()


class PausedSource(FakeSource):
    """A work source that says when its worker leases nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.paused = threading.Event()

    def pause(self) -> None:
        self.paused.set()


def test_a_worker_protects_its_task_and_leases_nothing_until_it_has_rested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_protection, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(task_protection, "ON_END_SECONDS", 0.0)
    monkeypatch.setattr(task_protection, "REST_SECONDS", 0.0)
    goes_on, began, source = threading.Event(), threading.Event(), PausedSource()
    asked_before: list[dict[str, Any]] = []

    with an_agent() as agent:

        def first(_target: Performer, _stop: Stop) -> Answer:
            assert goes_on.wait(PATIENCE)
            return FINE

        def second(_target: Performer, _stop: Stop) -> Answer:
            asked_before.extend(agent.asked)
            began.set()
            return FINE

        with working(source, agent=EcsAgent(agent.uri)):
            source.offer(a_task("first", first, needs=Needs(frozenset(), seconds=7200)))
            assert source.paused.wait(PATIENCE)
            source.offer(a_task("second", second, needs=Needs(frozenset(), seconds=1)))
            assert not began.wait(0.2), "the worker has room for it, but it rests"
            goes_on.set()
            assert began.wait(PATIENCE)
    assert asked_before == [PROTECT, RELEASE]
