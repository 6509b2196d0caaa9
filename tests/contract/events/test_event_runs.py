"""An event's whole way, from the index to the worker, on both engines."""

import json

import pytest

from onthedot.core.choices import Priority
from onthedot.core.payloads import load_payload
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Kind, Record
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Started, start_run
from onthedot.engine import Engine
from onthedot.events.handle import Event, Handled, handle_event
from onthedot.jobs.change import cancel_job, pause_job, resume_job
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.contract.kits.kit import Kit


@pytest.fixture
def engine(kit: Kit) -> Engine:
    return kit.engine(kit.store(), kit.queues()[0], kit.blobs())


def a_waiting_job(engine: Engine, pattern: object, payload: object = None) -> Record:
    definition = Definition(HttpTarget("http://x/"), payload=payload)
    request = JobRequest(definition, "f", Priority.MEDIUM, DEFAULT_POOL, pattern=json.dumps(pattern))
    return submit_job(engine, "acme", request)


def tell(engine: Engine, event_id: str, detail: object) -> Handled:
    document = {"id": event_id, "source": "shop", "detail-type": "Order Paid", "detail": detail}
    return handle_event(
        engine, "acme", Event(event_id, engine.clock.now(), document), Deadline.after(engine.clock.now(), 20_000)
    )


@pytest.mark.parametrize("text", ["short ü", "long ☂" * 2_000])
def test_an_event_makes_its_runs_once_and_workers_are_given_it(engine: Engine, text: str) -> None:
    whole = a_waiting_job(engine, {"source": ["shop"]})
    picking = a_waiting_job(engine, {"detail": {"text": [{"exists": True}]}}, {"picked": "$.detail.text"})
    a_waiting_job(engine, {"source": ["bank"]})
    document = {"id": "e-1", "source": "shop", "detail-type": "Order Paid", "detail": {"text": text}}
    event = Event("e-1", engine.clock.now(), document)
    first = handle_event(engine, "acme", event, Deadline.after(engine.clock.now(), 20_000))
    again = handle_event(engine, "acme", event, Deadline.after(engine.clock.now(), 20_000))
    assert (first.made, again.made, sorted(again.runs)) == (2, 0, sorted(first.runs))
    given = {}
    for received in engine.queues.receive(DEFAULT_POOL, Priority.MEDIUM, 10, visibility_ms=30_000):
        started = start_run(engine, received.message, "worker")
        if isinstance(started, Started):
            assert started.definition is not None
            given[started.run.job_id] = json.loads(load_payload(engine.blobs, started.definition))
    assert given == {whole.job_id: document, picking.job_id: {"picked": text}}


def test_pause_resume_and_cancel_are_heard_at_once(engine: Engine) -> None:
    job = a_waiting_job(engine, {"source": ["shop"]})
    assert (job.kind, job.slot) == (Kind.EVENT, None)
    pause_job(engine, "acme", job.job_id)
    assert tell(engine, "e-1", {}).runs == []
    resume_job(engine, "acme", job.job_id)
    assert len(tell(engine, "e-2", {}).runs) == 1
    cancel_job(engine, "acme", job.job_id)
    assert tell(engine, "e-3", {}).runs == []
