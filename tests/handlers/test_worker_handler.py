"""A batch of messages in, a well-formed partial batch response out."""

import os
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Answer, Call, Received, RunMessage
from onthedot.core.records import Definition
from onthedot.core.start import Done, Redeliver, Verdict
from onthedot.core.traces import span_id_of
from onthedot.engines.aws.sqs.queues import message_body
from onthedot.settings import WorkerSettings
from onthedot.targets.types import INTERNAL, PUSHED
from tests.builders import VirtualClock, a_run
from tests.handlers.conftest import BUCKET, Cloud, Context
from tests.unit.targets.samples import OF_EACH_TYPE


def record(run_id: str, body: str | None = None) -> dict[str, Any]:
    message = RunMessage(run_id, "g", 0, "acme", Priority.HIGH, "default")
    return {
        "messageId": f"id-{run_id}",
        "receiptHandle": f"receipt-{run_id}",
        "body": message_body(message) if body is None else body,
        "attributes": {"ApproximateReceiveCount": "1"},
    }


NEWER = '{"format":2,"run":"x","generation":"g","fire_at":0,"tenant":"t","priority":"HIGH","pool":"default"}'
"""A message from a newer version."""


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


def test_the_log_has_the_trace_of_the_run_and_the_span_of_its_attempt(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    run = a_run(VirtualClock()).called("a").having(trace=trace, attempt=2).build()
    answering(worker, monkeypatch, {"a": Done("succeeded", run), "b": Redeliver(5_000, "early")})
    early = message_body(RunMessage("b", "g", 0, "acme", Priority.HIGH, "default", trace=trace))
    worker.handle({"Records": [record("a"), record("b", early)]}, Context())
    lines = [vars(line) for line in caplog.records if line.message == "executed"]
    found = {line["run"]: (line["trace_id"], line.get("span_id")) for line in lines}
    assert found == {"a": (trace[:32], span_id_of("a", 2)), "b": (trace[:32], None)}


def test_a_message_that_cannot_be_hidden_is_kept_all_the_same(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(worker, monkeypatch, {"unhidable": Redeliver(5_000, "early")})
    assert worker.handle({"Records": [record("unhidable")]}, Context()) == failures("unhidable")


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"run": "x"}', "null", NEWER])
def test_what_is_no_message_of_ours_is_kept_for_the_dead_letter_queue(worker: ModuleType, body: str) -> None:
    assert worker.handle({"Records": [record("x", body)]}, Context()) == failures("x")


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


def perform(worker: ModuleType, kind: str) -> Answer:
    call = Call("run", "job", 1, 0, Definition(OF_EACH_TYPE[kind]), b"{}", 1_000)
    answer: Answer = worker._executor.performer.perform(call)
    return answer


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_it_calls_over_the_network_but_not_its_own_machine(worker: ModuleType, kind: str) -> None:
    assert perform(worker, kind).error_class == "refused_address"


@pytest.mark.parametrize("kind", ["lambda", "aws"])
def test_it_calls_of_aws_what_the_stage_allows(worker: ModuleType, kind: str) -> None:
    assert perform(worker, kind).error_class == "not_allowed"


@pytest.mark.parametrize("kind", sorted(PUSHED - INTERNAL))
def test_it_performs_every_type_of_the_push_pools(worker: ModuleType, kind: str) -> None:
    assert perform(worker, kind).error_class != "unsupported"


@pytest.mark.parametrize("kind", sorted(OF_EACH_TYPE.keys() - PUSHED))
def test_programs_and_handlers_are_for_pull_workers(worker: ModuleType, kind: str) -> None:
    assert perform(worker, kind).error_class == "unsupported"


@pytest.mark.parametrize("error", [SystemExit, ZeroDivisionError])
def test_no_kind_of_error_of_one_run_fails_the_batch(
    worker: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[BaseException],
) -> None:
    def execute(_: Any, received: Received, __: int) -> Verdict:
        if received.message.run_id == "bad":
            raise error
        return Done("succeeded")

    monkeypatch.setattr(worker, "execute_run", execute)
    assert worker.handle({"Records": [record("good"), record("bad")]}, Context()) == failures("bad")
    assert '"not_executed":[1]' in capsys.readouterr().out


class Ended(Exception):
    """The process would have ended here."""


class ShortLife(Context):
    """A function that gives a batch up after three seconds: until then all runs but `stuck` have ended."""

    def get_remaining_time_in_millis(self) -> int:
        return 13_000


class FakeQueues:
    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.hidden: list[str] = []
        self.error: Exception | None = None

    def hide(self, received: Received, milliseconds: int) -> None:
        assert milliseconds >= lifecycle.LEASE_MS
        self.hidden.append(received.message.run_id)

    def delete(self, received: Received) -> None:
        if self.error is not None:
            raise self.error
        self.deleted.append(received.message.run_id)


@pytest.fixture
def never_ending(worker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeQueues]:
    """The worker with a run `stuck` that does not end. Process ends are noted."""
    queues, test_is_over = FakeQueues(), threading.Event()

    def execute(_: Any, received: Received, __: int) -> Verdict:
        if received.message.run_id == "stuck":
            assert test_is_over.wait(60)
        return Done("succeeded") if received.message.run_id != "later" else Redeliver(40_000, "early")

    def end(code: int) -> None:
        assert code != 0
        raise Ended

    monkeypatch.setattr(worker, "execute_run", execute)
    monkeypatch.setattr(worker, "_queues", queues)
    monkeypatch.setattr(os, "_exit", end)
    yield queues
    test_is_over.set()


@pytest.mark.slow
def test_a_run_that_does_not_end_sends_no_other_message_around_again(
    worker: ModuleType, never_ending: FakeQueues, capsys: pytest.CaptureFixture[str]
) -> None:
    """AWS kills the function at its timeout, and then delivers all messages of the batch again."""
    good = [f"good-{number}" for number in range(8)]
    with pytest.raises(Ended):
        worker.handle({"Records": [record(run) for run in ("stuck", "later", *good)]}, ShortLife())
    assert sorted(never_ending.deleted) == good
    assert sorted(never_ending.hidden) == ["later", "stuck"]
    assert '"not_executed":[1]' in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("error", [Unavailable("sqs"), KeyError("a bug")])
def test_a_run_that_does_not_end_is_given_up_also_if_the_queue_fails(
    worker: ModuleType, never_ending: FakeQueues, error: Exception
) -> None:
    never_ending.error = error
    with pytest.raises(Ended):
        worker.handle({"Records": [record("stuck"), record("good")]}, ShortLife())
    assert never_ending.hidden == ["stuck"]


def test_a_slow_batch_deletes_the_messages_of_its_finished_runs_meanwhile(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that they do not come again if the process dies later."""
    queues, deleted = FakeQueues(), threading.Event()

    def execute(_: Any, received: Received, __: int) -> Verdict:
        if received.message.run_id == "slow":
            assert deleted.wait(60)
        return Done("succeeded")

    def delete(received: Received) -> None:
        queues.deleted.append(received.message.run_id)
        deleted.set()

    monkeypatch.setattr(worker, "execute_run", execute)
    monkeypatch.setattr(worker, "_queues", queues)
    monkeypatch.setattr(queues, "delete", delete)
    monkeypatch.setattr(worker, "SECONDS_TOGETHER", 0.05)
    assert worker.handle({"Records": [record("quick"), record("slow")]}, Context()) == failures()
    assert queues.deleted == ["quick"]


def test_a_quick_batch_leaves_the_deletion_to_its_event_source(
    worker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = FakeQueues()
    monkeypatch.setattr(worker, "execute_run", lambda *_: Done("succeeded"))
    monkeypatch.setattr(worker, "_queues", queues)
    assert worker.handle({"Records": [record("a"), record("b")]}, Context()) == failures()
    assert queues.deleted == []
