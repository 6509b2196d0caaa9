"""Fire times on a server: far ones, claimed by a tick, and recurring ones that follow each other closely."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.records import Status
from onthedot.serve.ticks import Ticks
from onthedot.wiring.embedded import Embedded, embedded, owned_database
from tests.builders import SERVER
from tests.e2e.homes import Api
from tests.e2e.listener import Listener, listening
from tests.serve.leases import a_job
from tests.served import ServerProcess

MINUTE = 60


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def due(parts: Embedded) -> list[str]:
    received = parts.queues.receive("default", Priority.MEDIUM, 10, visibility_ms=60_000)
    return [one.message.run_id for one in received]


def test_a_far_job_is_claimed_by_a_tick_and_arrives_at_its_millisecond(tmp_path: Path) -> None:
    clock = VirtualClock()
    with owned_database(tmp_path / "onthedot.db") as database:
        parts = embedded(database, clock, SERVER)
        ticks = Ticks(parts)
        job = a_job(parts.engine, target={"type": "http", "url": "http://127.0.0.1:9/"}, delay=10 * MINUTE)
        assert ticks._turn()
        record = parts.engine.store.get(job)
        assert record is not None
        assert record.status is Status.PENDING
        for _ in range(9):
            clock.advance(MINUTE)
            assert ticks._turn()
            assert due(parts) == []
        clock.advance(MINUTE - 0.001)
        assert due(parts) == []
        clock.advance(0.001)
        assert due(parts) == [job]
        parts.writer.close()


def test_a_job_every_second_has_exactly_its_fire_times(shared: ServerProcess, listener: Listener) -> None:
    api = Api(shared.url, shared.token, 0.02)
    job = api.submit(callback_url=f"{listener.url}/ticking", every=1, max_runs=5)
    listener.wait_for("/ticking", count=5)
    api.wait_for(job["job_id"], "COMPLETED")
    arrivals = listener.at_path("/ticking")
    nominal = sorted(ms(arrival.headers["x-onthedot-fire-time"]) for arrival in arrivals)
    assert nominal == [ms(job["next_fire_time"]) + 1_000 * n for n in range(5)]
    assert all(arrival.at >= ms(arrival.headers["x-onthedot-fire-time"]) for arrival in arrivals)
    assert len({arrival.headers["idempotency-key"] for arrival in arrivals}) == 5


@pytest.mark.slow
def test_a_run_that_outlasts_its_lease_keeps_it_and_runs_once(shared: ServerProcess, listener: Listener) -> None:
    api = Api(shared.url, shared.token, 0.2)
    began = time.monotonic()
    job = api.submit(callback_url=f"{listener.url}/lasting?hang=40", timeout_seconds=80)
    api.wait_for(job["job_id"], "SUCCEEDED", seconds=90)
    assert time.monotonic() - began >= 39
    assert len(listener.at_path("/lasting")) == 1
    _, run = api.call("GET", f"/v1/executions/{job['job_id']}")
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["succeeded"]
