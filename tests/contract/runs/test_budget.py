"""What a run costs, in write units: the budget of the design, counted on MiniStack."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock, patch

import pytest

from localstack.write_units import computed_units, counted_units
from onthedot.access.signing_keys import keys_of
from onthedot.core import lifecycle
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.choices import Priority
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Move, applied
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import Answer, Call, Deadline, Moved, Received, Refused, Tick, Undecided
from onthedot.core.progress import MAX_TEXT, ProgressReport
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.send import message_for
from onthedot.core.start import Done
from onthedot.core.tick import dispatch_due
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.s3_blobs import NoBlobs
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.schedule import EverySchedule, Recurrence, Schedule
from onthedot.targets.types import HttpTarget
from tests.builders import DEPLOYMENT, VirtualClock, a_run
from tests.contract.kits.ministack_kit import Clients, MiniStackKit
from tests.scenarios.kits.simulation import NoLeases


class AnsweringTarget:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def perform(self, call: Call) -> Answer:
        return self.answer


@dataclass
class CountingStore(DynamoRunStore):
    """Also counts the units of PartiQL, from each item before and after, since MiniStack says 1 for any."""

    clients: Clients
    table: str
    virtual: VirtualClock
    units: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.clients.dynamodb, self.table, self.virtual)

    def item(self, run_id: str) -> Any:
        return self.clients.dynamodb.get_item(TableName=self.table, Key=run_key(run_id), ConsistentRead=True).get(
            "Item"
        )

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        outcomes = super().create_many(records, deadline)
        self.units += [computed_units(None, self.item(record.run_id)) for record in records]
        return outcomes

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        before = [self.item(move.run_id) for move in moves]
        outcomes = super().move_many(moves, deadline)
        after = [self.item(move.run_id) for move in moves]
        self.units += [computed_units(old, new) for old, new in zip(before, after, strict=True)]
        return outcomes


@dataclass
class Life:
    """One run's life in virtual time, on MiniStack's table and queues."""

    clients: Clients
    clock: VirtualClock
    store: CountingStore
    engine: Engine
    progress: ProgressStore

    def submit(self, delay_s: int, *gates: str) -> Record:
        target = HttpTarget("https://api.example.com/v1/orders/123/remind")
        request = JobRequest(
            definition=Definition(target, payload={"order": 123, "user": "u-47"}, name="remind", tags={"app": "shop"}),
            fingerprint="f" * 64,
            priority=Priority.MEDIUM,
            pool=DEFAULT_POOL,
            delay_ms=delay_s * 1000,
            record={"gates": gates},
        )
        with counted_units(self.clients.dynamodb) as units:
            run = submit_job(self.engine, "acme", request)
        self.store.units += units
        return run

    def submit_recurring(self, seconds: int) -> Record:
        schedule = Schedule(EverySchedule(seconds, self.clock.now() + 400_000))
        request = JobRequest(
            definition=Definition(HttpTarget("https://api.example.com/v1/report"), payload={"kind": "daily"}),
            fingerprint="f" * 64,
            priority=Priority.MEDIUM,
            pool=DEFAULT_POOL,
            recurrence=Recurrence(schedule),
        )
        return submit_job(self.engine, "acme", request)

    def dispatch(self) -> None:
        tick = Tick(0, tuple(range(DEPLOYMENT.shards)), self.clock.now(), "tick")
        dispatch_due(self.engine, self.progress, tick, Deadline.after(self.clock.now(), 60_000))

    def execute(self, run: Record, answer: Answer) -> None:
        worker = RunExecutor(self.engine, AnsweringTarget(answer), NoLeases(), "lambda-12345678", random.Random(1))
        with counted_units(self.clients.dynamodb) as units:
            verdict = execute_run(worker, Received(message_for(run), "receipt", 1))
        assert isinstance(verdict, Done)
        self.store.units += units


@pytest.fixture
def life(clients: Clients) -> Life:
    clock = VirtualClock()
    kit = MiniStackKit(clients)
    store = CountingStore(clients, kit.store()._table, clock)
    queues, _ = kit.queues()
    virtual_queues = SqsRunQueues(clients.sqs, None, queues._queue_urls, clock)
    kit.clock = clock
    engine = kit.engine(store, virtual_queues, NoBlobs())
    keys_of(engine, "acme")  # made once for each tenant, not for each run
    return Life(clients, clock, store, engine, kit.progress())


def test_a_one_off_far_ahead_costs_nine_units(life: Life) -> None:
    run = life.submit(400)
    assert run.status is Status.PENDING
    life.clock.advance(200)
    life.dispatch()
    life.clock.advance(200)
    life.execute(run, Answer(ok=True, result='{"ok":true}'))
    create, claim, start, finish = life.store.units
    assert (create, claim, start, finish) == (3, 3, 1, 2)


def test_a_one_off_on_the_direct_path_costs_six_units(life: Life) -> None:
    run = life.submit(3)
    life.clock.advance(3)
    life.execute(run, Answer(ok=True, result='{"ok":true}'))
    assert life.store.units == [3, 1, 2]


def test_a_recurring_run_costs_eight_units(life: Life) -> None:
    job = life.submit_recurring(3_600)
    life.clock.advance(200)
    life.dispatch()
    (run,) = life.store.runs_of(job.job_id, 10).items
    life.clock.advance(200)
    life.execute(run, Answer(ok=True, result='{"ok":true}'))
    stamp, advance, start, finish = life.store.units
    assert (stamp, advance, start, finish) == (2, 3, 1, 2)


def test_six_fires_of_a_window_share_one_advance(life: Life) -> None:
    life.submit_recurring(10)
    life.clock.advance(180)
    life.dispatch()
    life.store.units.clear()
    life.clock.advance(60)
    life.dispatch()
    assert life.store.units == [2] * 6 + [3]


def test_a_retry_costs_three_units_and_another_start(life: Life) -> None:
    run = life.submit(0)
    life.execute(run, Answer(ok=False, error="HTTP 503"))
    create, start, retry = life.store.units
    assert (create, start, retry) == (3, 1, 3)


def test_the_computed_units_are_those_that_update_item_reports(life: Life) -> None:
    pending = a_run(life.clock).due_in(400).having(listed_under="acme#1").stored_in(life.store)
    direct = a_run(life.clock).due_in(0).having(listed_under="acme#1").stored_in(life.store)
    now = life.clock.now()
    start = lifecycle.start(direct.run_id, direct.generation, now=now, worker="w", attempt_token="t")
    running = applied(direct, start)
    moves = [
        lifecycle.claim(
            pending.run_id, pending.slot or "", pending.generation, pending.due_at, now=now, claim_token="t"
        ),
        start,
        lifecycle.extend_lease(running, now + 1),
        lifecycle.repark(running, now + 600_000, DEPLOYMENT),
        lifecycle.fail(running, now, failure=Failure("e" * 2_000), why="w", deployment=DEPLOYMENT),
        lifecycle.delete(running, now, "g", DEPLOYMENT),
    ]
    for move in moves:
        before = life.store.item(move.run_id)
        with counted_units(life.clients.dynamodb) as units:
            assert isinstance(life.store.move(move), Moved)
        assert [computed_units(before, life.store.item(move.run_id))] == units, move


def test_a_heartbeat_with_the_longest_report_costs_one_unit_and_the_end_no_more_than_without(life: Life) -> None:
    run = life.submit(0)
    start = lifecycle.start(run.run_id, run.generation, now=life.clock.now(), worker="w" * 20, attempt_token="t" * 8)
    running = life.store.move(start)
    assert isinstance(running, Moved)
    assert running.run is not None
    report = ProgressReport(0.123456789, "x" * MAX_TEXT)
    moves = [
        lifecycle.extend_lease(running.run, life.clock.now() + 1, report),
        lifecycle.succeed(running.run, life.clock.now() + 2, '{"ok":true}', DEPLOYMENT),
    ]
    with counted_units(life.clients.dynamodb) as units:
        for move in moves:
            assert isinstance(life.store.move(move), Moved)
    assert units == [1, 2]


def test_messages_are_sent_ten_to_a_request(life: Life) -> None:
    runs = [a_run(life.clock).due_in(60).pending().stored_in(life.store) for _ in range(100)]
    sqs = life.clients.sqs
    with patch.object(sqs, "send_message_batch", wraps=sqs.send_message_batch) as send:
        life.dispatch()
    requests = [len(call.kwargs["Entries"]) for call in send.call_args_list]
    assert sum(requests) == len(runs)
    # One request to send ten, one to receive and one to delete them: three for ten runs at full batches.
    assert 3 * len(requests) <= 0.45 * len(runs)


def test_moves_and_stamps_go_25_to_a_request(life: Life) -> None:
    now = life.clock.now()
    runs = [a_run(life.clock).due_in(600).pending().build() for _ in range(50)]
    client = Mock(wraps=life.clients.dynamodb)
    store = DynamoRunStore(client, life.store.table, life.clock)
    store.create_many(runs, Deadline.after(now, 30_000))
    moves = [
        lifecycle.claim(run.run_id, run.slot or "", run.generation, run.due_at, now=now, claim_token="t/1")
        for run in runs
    ]
    outcomes = store.move_many(moves, Deadline.after(now, 30_000))
    assert all(isinstance(outcome, Moved) for outcome in outcomes)
    assert [name for name, _, _ in client.method_calls] == ["batch_execute_statement"] * 4
