"""Jobs, messages and ticks that an earlier version recorded go on under the current one (tests/recorded/record.py)."""

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localstack.table import table_arguments
from onthedot.access.ports import Principal
from onthedot.access.tokens import authenticate
from onthedot.core.clock import VirtualClock
from onthedot.core.pools import DEFAULT_POOLS
from onthedot.core.ports import Deadline, RunMessage, Tick
from onthedot.core.records import Record, Status
from onthedot.core.schema import PRIORITIES
from onthedot.core.tick import dispatch_due
from onthedot.engines.aws.sqs.queues import read_message
from onthedot.engines.aws.sqs.ticks import read_tick
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from tests import builders
from tests.contract.kits.ministack_kit import Clients
from tests.recorded.record import DEPLOYMENT, HERE, Stage, answers, aws_stage

RECORDINGS = sorted(HERE.glob("format-*.json"))
LIVE = ("far", "near", "large", "running", "at_a_gate", "pulled", "waits_for_a_worker", "child")
"""The recorded jobs that have not ended, and succeed."""


@dataclass
class Replay:
    """An engine of the current version on everything that was recorded."""

    recorded: dict[str, Any]
    clock: VirtualClock
    stage: Stage
    messages: Callable[[], list[RunMessage]]
    """Take the recorded messages that have arrived."""
    ticks: list[Tick]

    def run(self, name: str) -> Record:
        run = self.stage.engine.store.get(self.recorded["ids"][name])
        assert run is not None
        return run

    def let_pass(self, minutes: int) -> None:
        for _ in range(minutes):
            self.clock.advance(60)
            self.stage.tick()
            for run in self._runs():
                if run.status is Status.DISPATCHED and run.due_at <= self.clock.now():
                    self.stage.execute(run.run_id)

    def _runs(self) -> list[Record]:
        ids = self.recorded["ids"]
        graph = [job["job_id"] for job in self.stage.call("GET", f"/v1/workflows/{ids['workflow']}")["jobs"]]
        found = self.stage.engine.store.get_many([*ids.values(), *graph], Deadline.after(self.clock.now(), 5_000)).found
        return [*found.values(), *self.stage.runs_of(ids["recurring"])]


@pytest.fixture(params=RECORDINGS, ids=lambda path: path.stem)
def replay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replay]:
    recorded = json.loads(request.param.read_text())
    clock = VirtualClock(recorded["at"])
    with Database(tmp_path / "recorded") as database:
        if "sql" in recorded:
            database.close()
            yield _on_sqlite(recorded, clock, tmp_path)
        else:
            yield _on_aws(recorded, clock, database, request.getfixturevalue("ministack"))


def _on_sqlite(recorded: dict[str, Any], clock: VirtualClock, folder: Path) -> Replay:
    with closing(sqlite3.connect(folder / "old")) as connection:
        connection.executescript("\n".join(recorded["sql"]))
    embedded = builders.World.on(Database(folder / "old"), clock, DEPLOYMENT)
    queues = [(pool.name, priority) for pool in DEFAULT_POOLS for priority in PRIORITIES]

    def messages() -> list[RunMessage]:
        found: list[RunMessage] = []
        for queue in queues:
            while received := embedded.queues.receive(*queue, 10, visibility_ms=1_000):
                found += [one.message for one in received]
        return found

    ticks = [one.tick for one in embedded.ticks.receive_ticks(10)]
    return Replay(
        recorded,
        clock,
        Stage(embedded.engine, embedded.progress, embedded.tokens, embedded.ticks),
        messages,
        ticks,
    )


def _on_aws(recorded: dict[str, Any], clock: VirtualClock, database: Database, clients: Clients) -> Replay:
    table = f"recorded-{secrets.token_hex(4)}"
    clients.dynamodb.create_table(**table_arguments(table))
    for item in recorded["items"]:
        clients.dynamodb.put_item(TableName=table, Item=item)
    for key, content in recorded["blobs"].items():
        SqliteBlobs(database).put(key, content.encode())
    stage = aws_stage(clients.dynamodb, clients.sqs, table, clock, database)
    return Replay(
        recorded,
        clock,
        stage,
        lambda: [read_message(body) for body in recorded["messages"]],
        [read_tick(body, f"recorded-{number}", 1) for number, body in enumerate(recorded["ticks"])],
    )


CORRECTED: dict[str, Callable[[Any, Any], bool]] = {
    ".runs": lambda before, after: 0 <= after <= before,
    ".finished_at": lambda before, after: after is None or after > before,
}
"""The recorded version counted runs that were stamped ahead, and ended a schedule when its last run was stamped."""


def test_everything_that_was_recorded_is_shown_as_before(replay: Replay) -> None:
    shown = answers(replay.stage, replay.recorded)
    for path, before in replay.recorded["answers"].items():
        assert _lost(before, shown[path]) == [], path
    token = f"Bearer {replay.recorded['token']}"
    assert authenticate(replay.stage.tokens, token) == Principal("acme", "operator", "recorded")


def _lost(before: Any, after: Any, where: str = "") -> list[str]:
    """Return the places at which an answer has no longer what it had. It may have more."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [lost for name in before for lost in _lost(before[name], after.get(name, "nothing"), f"{where}.{name}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [lost for number, (was, now) in pairs for lost in _lost(was, now, f"{where}.{number}")]
    if where in CORRECTED and (after is None or before != after):
        return [] if CORRECTED[where](before, after) else [f"{where}: {before!r}, now {after!r}"]
    # A link to a blob has the engine's own address.
    return [] if before == after or where.endswith("_url") else [f"{where}: {before!r}, now {after!r}"]


def test_recorded_messages_run_their_runs(replay: Replay) -> None:
    replay.clock.advance(70)
    verdicts = [replay.stage.execute_message(message) for message in replay.messages()]
    assert len(verdicts) > 10
    assert {name: replay.run(name).status for name in ("near", "large")} == {"near": "SUCCEEDED", "large": "SUCCEEDED"}
    assert replay.run("retrying").failures == 2


def test_recorded_ticks_are_done(replay: Replay) -> None:
    assert replay.ticks
    for tick in replay.ticks:
        deadline = Deadline.after(replay.clock.now(), 80_000)
        counts = dispatch_due(replay.stage.engine, replay.stage.progress, tick, deadline)
        assert not counts["busy"], counts
        assert not counts["slot_failed"], counts
        assert not counts["set_aside"], counts


def test_recorded_jobs_go_on_and_end(replay: Replay) -> None:
    before = {run.run_id for run in replay.stage.runs_of(replay.recorded["ids"]["recurring"])}
    replay.let_pass(12)
    assert {name: replay.run(name).status for name in LIVE} == dict.fromkeys(LIVE, Status.SUCCEEDED)
    kept = ("paused", "cancelled", "deleted", "failed", "succeeded")
    assert [replay.run(name).status for name in kept] == ["PAUSED", "CANCELLED", "DELETED", "FAILED", "SUCCEEDED"]
    assert replay.run("retrying").status is Status.FAILED
    assert replay.run("running").attempt == 2, "the recorded attempt was lost"
    graph = replay.stage.call("GET", f"/v1/workflows/{replay.recorded['ids']['workflow']}")["jobs"]
    assert {job["status"] for job in graph} == {"SUCCEEDED"}
    after = [run for run in replay.stage.runs_of(replay.recorded["ids"]["recurring"]) if run.run_id not in before]
    assert len([run for run in after if run.status is Status.SUCCEEDED]) >= 8
    assert replay.stage.tell("event-1") == [replay.recorded["runs"]["event"]]
    (new,) = replay.stage.tell("event-2")
    assert new != replay.recorded["runs"]["event"]
