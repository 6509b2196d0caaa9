"""The bodies of run messages: what they leave out, and those of earlier versions."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.ports import Deadline, RunMessage
from onthedot.engines.aws.sqs.queues import message_body, read_message
from onthedot.engines.sqlite.database import Database
from tests.builders import NOON, VirtualClock
from tests.table_queues import Letter, MessageTable, SqliteRunQueues

MESSAGE = RunMessage("job_a", "g1", NOON, "acme", Priority.MEDIUM, "default")
GATED = replace(MESSAGE, gates=("customer:42", "stripe"), woken="stripe", start_by=NOON + 1)
BODY = {"generation": "g1", "fire_at": NOON, "tenant": "acme", "priority": "MEDIUM", "pool": "default"}
GATES = {"gates": ["customer:42", "stripe"], "woken": "stripe", "start_by": NOON + 1}


class Sqlite:
    """The bodies in the table of the embedded engine."""

    run = "run_id"

    def __init__(self, database: Database) -> None:
        self.messages = MessageTable(database, VirtualClock())
        self.queues = SqliteRunQueues(database, VirtualClock())

    def body(self, message: RunMessage) -> str:
        self.queues.send([message], Deadline(NOON))
        [delivery] = self.messages.receive("default-medium", 1, visibility_ms=1_000, max_receives=3)
        return delivery.body

    def read(self, body: str) -> RunMessage:
        self.messages.send("default-medium", [Letter(body)])
        [received] = self.queues.receive("default", Priority.MEDIUM, 1, visibility_ms=1_000)
        return received.message


class Sqs:
    """The bodies in SQS."""

    run = "run"
    body: Callable[..., str] = staticmethod(message_body)
    read: Callable[..., RunMessage] = staticmethod(read_message)


@pytest.fixture(params=["sqlite", "sqs"])
def bodies(request: pytest.FixtureRequest) -> Iterator[Any]:
    with Database() as database:
        yield Sqlite(database) if request.param == "sqlite" else Sqs()


def test_a_run_without_gates_has_a_body_without_them(bodies: Any) -> None:
    assert json.loads(bodies.body(MESSAGE)) == {"format": 1, bodies.run: "job_a", **BODY}


def test_a_run_with_gates_has_them_in_its_body(bodies: Any) -> None:
    assert json.loads(bodies.body(GATED)) == {"format": 1, bodies.run: "job_a", **BODY, **GATES}


def test_a_body_of_an_earlier_version_is_read(bodies: Any) -> None:
    assert bodies.read(json.dumps({bodies.run: "job_a", **BODY})) == MESSAGE


def test_a_body_with_gates_is_read(bodies: Any) -> None:
    assert bodies.read(json.dumps({bodies.run: "job_a", **BODY, **GATES})) == GATED
