"""All stores of this version read what an earlier version stored (tests/recorded/registries.py)."""

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localstack.table import table_arguments
from onthedot.core.clock import VirtualClock
from onthedot.engines.sqlite.database import Database
from tests.contract.kits.ministack_kit import Clients
from tests.recorded.record import HERE, Stage, aws_stage
from tests.recorded.registries import facts, sqlite_stage

RECORDINGS = sorted(HERE.glob("registries-*.json"))


@pytest.fixture(params=RECORDINGS, ids=lambda path: path.stem)
def recorded(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request.param.read_text())
    return found


@pytest.fixture
def stage(recorded: dict[str, Any], request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    on: Callable[..., Iterator[Stage]] = _on_file if "sql" in recorded else _on_table
    yield from on(recorded, VirtualClock(recorded["at"]), tmp_path / "stage.db", request)


def _on_file(
    recorded: dict[str, Any], clock: VirtualClock, path: Path, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("\n".join(recorded["sql"]))
    with Database(path) as database:
        yield sqlite_stage(database, clock)


def _on_table(
    recorded: dict[str, Any], clock: VirtualClock, path: Path, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    clients: Clients = request.getfixturevalue("ministack")
    table = f"recorded-{secrets.token_hex(4)}"
    clients.dynamodb.create_table(**table_arguments(table))
    for item in recorded["items"]:
        clients.dynamodb.put_item(TableName=table, Item=item)
    with Database(path) as database:
        yield aws_stage(clients.dynamodb, clients.sqs, table, clock, database)


def test_the_stores_tell_the_facts_that_were_recorded(stage: Stage, recorded: dict[str, Any]) -> None:
    assert json.loads(json.dumps(facts(stage))) == recorded["facts"]
