"""A batch of messages in, a well-formed partial batch response out."""

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Definition, Priority
from onthedot.domain.targets.types import (
    TYPES,
    AwsTarget,
    GrpcTarget,
    HttpTarget,
    LambdaTarget,
    PythonTarget,
    ShellTarget,
    Target,
)
from onthedot.engines.aws.sqs.queues import message_body
from onthedot.ports import Answer, Call, Received, RunMessage
from onthedot.settings import WorkerSettings
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Verdict
from tests.handlers.conftest import BUCKET, Cloud, Context


def record(run_id: str, body: str | None = None) -> dict[str, Any]:
    message = RunMessage(run_id, "g", 0, "acme", Priority.HIGH, "default")
    return {
        "messageId": f"id-{run_id}",
        "receiptHandle": f"receipt-{run_id}",
        "body": message_body(message) if body is None else body,
        "attributes": {"ApproximateReceiveCount": "1"},
    }


def failures(*run_ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": f"id-{run_id}"} for run_id in run_ids]}


@pytest.fixture
def worker(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("worker", WorkerSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={}))


def answering(worker: ModuleType, monkeypatch: pytest.MonkeyPatch, verdicts: dict[str, Verdict]) -> list[Any]:
    """The worker with its use case replaced; returns what it hides."""
    hidden: list[tuple[str, int]] = []

    class Queues:
        def hide(self, received: Received, milliseconds: int) -> None:
            hidden.append((received.message.run_id, milliseconds))
            if received.message.run_id == "unhidable":
                raise Unavailable("sqs")

    monkeypatch.setattr(worker, "execute_run", lambda _, received, __: verdicts[received.message.run_id])
    monkeypatch.setattr(worker, "_queues", Queues())
    return hidden


def test_messages_that_are_still_needed_are_hidden_and_reported(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts: dict[str, Verdict] = {"a": Done("succeeded"), "b": Redeliver(5_000, "early"), "c": Done("stale")}
    hidden = answering(worker, monkeypatch, verdicts)
    assert worker.handle({"Records": [record("a"), record("b"), record("c")]}, Context()) == failures("b")
    assert hidden == [("b", 5_000)]


def test_a_message_that_cannot_be_hidden_is_kept_all_the_same(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(worker, monkeypatch, {"unhidable": Redeliver(5_000, "early")})
    assert worker.handle({"Records": [record("unhidable")]}, Context()) == failures("unhidable")


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"run": "x"}', "null"])
def test_what_is_no_message_of_ours_is_kept_for_the_dead_letter_queue(worker: ModuleType, body: str) -> None:
    assert worker.handle({"Records": [record("x", body)]}, Context()) == failures("x")


def test_a_message_of_an_unknown_run_is_dropped(worker: ModuleType) -> None:
    assert worker.handle({"Records": [record("unknown")]}, Context()) == failures()


def test_the_same_message_twice_in_a_batch_is_executed_once(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[str] = []

    def execute_run(_: object, received: Received, __: int) -> Verdict:
        executed.append(received.message.run_id)
        return Done("succeeded")

    monkeypatch.setattr(worker, "execute_run", execute_run)
    assert worker.handle({"Records": [record("a"), record("a")]}, Context()) == failures()
    assert executed == ["a"]


def test_an_empty_batch_is_nothing_to_do(worker: ModuleType) -> None:
    assert worker.handle({"Records": []}, Context()) == failures()


CALLS: dict[str, Target] = {
    "http": HttpTarget("http://127.0.0.1:9/"),
    "grpc": GrpcTarget("127.0.0.1:9", "package.Service/Method"),
    "lambda": LambdaTarget("not-allowed"),
    "aws": AwsTarget("sqs", "SendMessage"),
    "shell": ShellTarget(("true",)),
    "python": PythonTarget("handler"),
}


def test_the_cases_have_every_target_type_that_users_can_name() -> None:
    assert set(CALLS) == set(TYPES) - {"workflow"}


def perform(worker: ModuleType, kind: str) -> Answer:
    call = Call("run", "job", 1, 0, Definition(CALLS[kind]), b"{}", 1_000)
    answer: Answer = worker._executor.performer.perform(call)
    return answer


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_it_calls_over_the_network_but_not_its_own_machine(worker: ModuleType, kind: str) -> None:
    assert "127.0.0.1" in str(perform(worker, kind).error)
    assert perform(worker, kind).error_class != "unsupported"


@pytest.mark.parametrize("kind", ["lambda", "aws"])
def test_it_calls_of_aws_what_the_stage_allows(worker: ModuleType, kind: str) -> None:
    assert perform(worker, kind).error_class == "not_allowed"


@pytest.mark.parametrize("kind", ["shell", "python"])
def test_programs_and_handlers_are_for_pull_workers(worker: ModuleType, kind: str) -> None:
    answer = perform(worker, kind)
    assert (answer.error_class, answer.retryable) == ("unsupported", False)


def test_one_message_that_breaks_the_worker_is_kept_alone_and_leaves_no_other_running_behind(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, ended = threading.Event(), threading.Event()

    def execute(_: Any, received: Received, __: int) -> Verdict:
        if received.message.run_id == "bug":
            broken.set()
            raise ZeroDivisionError
        assert broken.wait(10)
        time.sleep(0.1)
        ended.set()
        return Done("succeeded")

    monkeypatch.setattr(worker, "execute_run", execute)
    assert worker.handle({"Records": [record("slow"), record("bug")]}, Context()) == failures("bug")
    assert ended.is_set()
    assert '"not_executed":[1.0]' in capsys.readouterr().out
