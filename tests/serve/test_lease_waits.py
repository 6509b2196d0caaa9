"""Leases that wait: they end with a run as soon as it is due, and without one when there is a reason."""

import time
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.records import Status
from onthedot.core.stopping import Stop
from onthedot.wiring.embedded import Embedded
from tests.serve.leases import SOON, Lease, a_job, a_worker, call


def test_a_lease_waits_until_a_run_arrives(parts: Embedded) -> None:
    lease = Lease(parts.engine, a_worker(parts.engine))
    assert lease.waits()
    job = a_job(parts.engine)
    assert lease.runs() == [job]
    assert lease.answer["waited_ms"] >= 100


def test_a_lease_returns_at_once_with_a_run_and_after_its_wait_without_one(parts: Embedded) -> None:
    job, worker = a_job(parts.engine), a_worker(parts.engine)
    first = Lease(parts.engine, worker)
    assert first.runs() == [job]
    assert first.answer["waited_ms"] < SOON * 1000
    assert call(parts.engine, "/v1/workers/register")["longest_wait_seconds"] == 20
    second = Lease(parts.engine, worker, {"wait_seconds": 0.2})
    assert second.runs() == []
    assert time.monotonic() - second.began >= 0.2
    assert second.answer["waited_ms"] == 200


def test_a_call_that_cannot_wait_is_answered_at_once(parts: Embedded) -> None:
    """As on AWS, and on a server that has no thread left for it."""
    worker = a_worker(parts.engine)
    began = time.monotonic()
    assert call(parts.engine, f"/v1/workers/{worker}/lease", None, wait_seconds=20)["runs"] == []
    assert time.monotonic() - began < SOON


def test_the_queues_are_asked_in_the_order_of_the_lease(parts: Embedded) -> None:
    at = time.time() + 0.3
    jobs = {priority: a_job(parts.engine, at=at, priority=priority) for priority in ("HIGH", "MEDIUM", "LOW")}
    worker = a_worker(parts.engine)
    for order in (["LOW", "HIGH", "MEDIUM"], ["MEDIUM", "HIGH"], ["HIGH"]):
        assert Lease(parts.engine, worker, {"priorities": order}).runs() == [jobs[order[0]]]


def test_a_lease_does_not_wait_for_queues_that_it_does_not_name(parts: Embedded) -> None:
    lease = Lease(parts.engine, a_worker(parts.engine), {"priorities": ["LOW"]})
    a_job(parts.engine, priority="HIGH")
    assert lease.waits()
    job = a_job(parts.engine, priority="LOW")
    assert lease.runs() == [job]


def test_a_run_that_is_assigned_to_the_worker_ends_its_wait(parts: Embedded) -> None:
    worker = a_worker(parts.engine)
    other = Lease(parts.engine, a_worker(parts.engine, "other"))
    lease = Lease(parts.engine, worker)
    assert lease.waits()
    job = a_job(parts.engine, delay=3_600)
    run = call(parts.engine, f"/v1/jobs/{job}/execute", worker_id=worker)
    assert lease.runs() == [run["execution_id"]]
    assert other.waits(0.05)
    other.gone.ask("enough")
    assert other.runs() == []


def test_a_run_that_only_another_worker_can_do_goes_there_while_both_wait(parts: Embedded) -> None:
    unable = Lease(parts.engine, a_worker(parts.engine, "unable"))
    assert unable.waits()
    able = Lease(parts.engine, a_worker(parts.engine, "able", capabilities=["shell", "printer"]))
    assert able.waits(0.05)
    job = a_job(parts.engine, requirements={"capabilities": ["printer"]})
    assert able.runs() == [job]
    unable.gone.ask("enough")
    assert unable.runs() == []


@pytest.mark.parametrize("load", [{"stopping": True}, {"stopped": True}, None])
def test_a_worker_that_stops_or_hangs_up_waits_no_longer_and_gets_nothing(
    parts: Embedded, load: dict[str, Any] | None
) -> None:
    worker = a_worker(parts.engine)
    lease = Lease(parts.engine, worker)
    assert lease.waits()
    if load is None:
        lease.gone.ask("it has hung up")
    else:
        call(parts.engine, f"/v1/workers/{worker}/heartbeat", **load)
    assert lease.runs() == []
    job = a_job(parts.engine)
    if load is not None:
        assert Lease(parts.engine, worker).runs() == [], "nor later"
        run = parts.engine.store.get(job)
        assert run is not None
        assert run.status is Status.DISPATCHED
    assert Lease(parts.engine, a_worker(parts.engine, "heir")).runs() == [job]


def test_a_message_that_arrives_for_a_worker_that_has_hung_up_goes_to_another_at_once(parts: Embedded) -> None:
    """The worker hangs up after its lease has received the message, and before the run is started."""
    job = a_job(parts.engine)
    gone = Stop()
    waits = parts.engine.lease_waits
    assert waits is not None
    with waits.of("gone", gone) as wait:
        [received] = wait.receive("pull", [Priority.MEDIUM], visibility_ms=60_000, until=2**60)
        gone.ask("it has hung up")
        assert wait.is_over
        parts.engine.queues.hide(received, 0)
    assert Lease(parts.engine, a_worker(parts.engine, "heir")).runs() == [job]


def test_a_report_ends_the_wait_because_the_worker_has_more_room(parts: Embedded) -> None:
    worker = a_worker(parts.engine, resources={"concurrency": 2, "cpu": 2, "memory_mb": 1024})
    a_job(parts.engine)
    [run] = Lease(parts.engine, worker).views()
    lease = Lease(parts.engine, worker, {"free": {"cpu": 1, "memory_mb": 512}})
    assert lease.waits()
    path = f"/v1/executions/{run['execution_id']}/complete"
    call(parts.engine, path, status="SUCCEEDED", attempt=1, worker_id=worker, receipt=run["receipt"])
    assert lease.runs() == []


def test_no_assignment_is_lost_between_a_look_and_the_wait(parts: Embedded) -> None:
    """An end that comes before the wait begins makes the lease look again."""
    waits = parts.engine.lease_waits
    assert waits is not None
    with waits.of("patient", Stop()) as wait:
        waits.end("patient")
        began = time.monotonic()
        assert wait.receive("pull", [], visibility_ms=1, until=2**60) == ()
        assert time.monotonic() - began < SOON
    waits.end("patient")  # no lease waits now
