"""No request is larger than AWS takes, however large its entries are."""

import json
from dataclasses import replace
from typing import Any

import pytest

from onthedot.access.tokens import LONGEST_NAME
from onthedot.core.choices import MOST_GATES, Priority
from onthedot.core.gate_names import MOST_KEY_CHARACTERS
from onthedot.core.ids import event_run_id, fresh_generation, fresh_job_id
from onthedot.core.ports import Deadline, Moved, RunMessage
from onthedot.core.records import Definition
from onthedot.engines.aws.dynamodb.moves import insert_statement, partiql_statement
from onthedot.engines.aws.dynamodb.records import to_item
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.leftovers import batches
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, VirtualClock, a_run, the_start_of
from tests.contract.kits.full_run import a_run_with_every_field

REQUEST_BYTES = 4 * 1024 * 1024
STATEMENT_BYTES = 8_192
SQS_BYTES = 256 * 1024
"""The limit of SQS before it was raised to 1 MiB. Another implementation may still have it."""


class Requests:
    """A client that keeps the bodies of its requests as botocore sends them."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.entries: list[int] = []

    def batch_execute_statement(self, **request: Any) -> dict[str, Any]:
        self._note(request, request["Statements"])
        return {"Responses": [{} for _ in request["Statements"]]}

    def send_message_batch(self, **request: Any) -> dict[str, Any]:
        self._note(request, request["Entries"])
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}

    def _note(self, request: Any, entries: list[Any]) -> None:
        self.sizes.append(len(json.dumps(request)))
        self.entries.append(len(entries))


@pytest.mark.parametrize("character", ["x", '"', "\x01", "ü", "\U0001f389"])
def test_a_batch_of_large_records_is_split_by_its_bytes(character: str) -> None:
    """25 records of 380 KB would be more than 9 MB."""
    clock, requests = VirtualClock(), Requests()
    text = character * (380_000 // len(character.encode()))
    large = Definition(HttpTarget("http://x/"), description=text)
    runs = [a_run(clock).having(definition=large).build() for _ in range(60)]

    store = DynamoRunStore(requests, "jobs", clock)  # type: ignore[arg-type]
    outcomes = store.create_many(runs, Deadline.after(clock.now(), 10_000))

    assert list(outcomes) == [Moved(None)] * len(runs)
    assert sum(requests.entries) == len(runs)
    assert max(requests.sizes) <= REQUEST_BYTES


def test_a_batch_of_usual_records_has_25_statements() -> None:
    clock, requests = VirtualClock(), Requests()
    runs = [replace(a_run_with_every_field(clock), run_id=run_id, job_id=run_id) for run_id in map(str, range(100))]

    DynamoRunStore(requests, "jobs", clock).create_many(runs, Deadline.after(clock.now(), 10_000))  # type: ignore[arg-type]

    assert requests.entries == [25] * 4


def test_no_statement_is_longer_than_dynamodb_reads() -> None:
    clock, table = VirtualClock(), "t" * 255
    run = a_run_with_every_field(clock)
    insert, move = insert_statement(to_item(run), table), partiql_statement(the_start_of(run, clock.now()), table)
    assert max(len(insert["Statement"]), len(move["Statement"])) < STATEMENT_BYTES


def test_ten_of_the_largest_messages_fit_into_a_request() -> None:
    wide = "\U0001f389"
    keys = tuple("g" * 64 + ":" + wide * MOST_KEY_CHARACTERS for _ in range(MOST_GATES))
    run_id, generation = event_run_id(fresh_job_id(), NOON, "e"), fresh_generation()
    message = RunMessage(run_id, generation, NOON, wide * LONGEST_NAME, Priority.MEDIUM, "p" * 20, keys, keys[0], NOON)
    requests, clock = Requests(), VirtualClock()
    queues = SqsRunQueues(requests, None, {f"{'p' * 20}-medium": "https://queue"}, clock)  # type: ignore[arg-type]

    assert list(queues.send([message] * 25, Deadline.after(clock.now(), 10_000))) == []

    assert requests.entries == [10, 10, 5]
    assert max(requests.sizes) < SQS_BYTES


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([1, 1, 1, 1], [[1, 1, 1], [1]]),
        ([5, 5, 1], [[5, 5], [1]]),
        ([11, 1, 11], [[11], [1], [11]]),
        ([10, 1], [[10], [1]]),
    ],
)
def test_batches_are_bounded_by_number_and_bytes(sizes: list[int], expected: list[list[int]]) -> None:
    assert list(batches(sizes, 3, 10, lambda size: size)) == expected
