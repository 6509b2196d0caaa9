"""Health of a server: its own ticks count, and those of the process before it do not."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.clock import VirtualClock
from onthedot.serve.ticks import Ticks
from onthedot.wiring.embedded import Embedded, embedded, owned_database
from tests.builders import SERVER
from tests.e2e.homes import Api
from tests.served import a_server

MINUTE = 60
NOW = 1_900_000_000_000


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOW)


def health(parts: Embedded) -> tuple[int, str]:
    answer = handle(parts.engine, Request("GET", "/v1/health"))
    return answer.status, answer.body["status"]


def test_health_is_starting_ok_late_and_starting_again_after_a_restart(tmp_path: Path, clock: VirtualClock) -> None:
    file = tmp_path / "onthedot.db"
    for _ in range(2):
        with owned_database(file) as database:
            parts = embedded(database, clock, SERVER)
            assert health(parts) == (200, "starting")
            clock.advance(2 * MINUTE)
            assert health(parts) == (200, "starting")
            clock.advance(2 * MINUTE)
            assert health(parts) == (503, "late"), "the first tick has not come"
            assert Ticks(parts)._turn()
            assert health(parts) == (200, "ok")
            clock.advance(4 * MINUTE)
            assert health(parts) == (503, "late"), "the tick thread hangs"
            assert Ticks(parts)._turn()
            assert health(parts) == (200, "ok")
            parts.writer.close()
        clock.advance(60 * MINUTE)


def test_the_first_tick_of_a_server_comes_at_once(tmp_path: Path) -> None:
    with a_server(tmp_path) as first:
        api = Api(first.url, first.token)
        api.submit(callback_url="http://127.0.0.1:9/", delay=3_600)
        deadline = time.monotonic() + 60
        while api.call("GET", "/v1/health")[1]["status"] != "ok":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        first.kill()
        with closing(sqlite3.connect(first.data)) as connection, connection:
            done = "'' || json_set(json_extract(content, '$.done'), '$.ticked_at', 1)"
            where = "partition = 'progress#0'"
            changed = connection.execute(
                f"UPDATE items SET content = json_set(content, '$.done', {done}) WHERE {where}"
            )
            assert changed.rowcount == 1
    with a_server(tmp_path) as again:
        api = Api(again.url, None)
        answers: list[tuple[int, str]] = []
        deadline = time.monotonic() + 60
        while not answers or answers[-1] != (200, "ok"):
            status, body = api.call("GET", "/v1/health")
            answers.append((status, body["status"]))
            assert time.monotonic() < deadline, answers
    assert set(answers) <= {(200, "starting"), (200, "ok")}
