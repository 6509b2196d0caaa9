"""POST /v1/jobs/batch: each entry is taken or refused on its own, in order, also on an engine that fails."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import Record
from onthedot.jobs.requests import MAX_BATCH_BODY
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import URL, Api, Instead, fields_of


def job(**fields: Any) -> dict[str, Any]:
    return {"callback_url": URL, **fields}


def batch(api: Api, *jobs: Any) -> list[dict[str, Any]]:
    response = api.send("POST", "/v1/jobs/batch", jobs=list(jobs))
    assert response.status == 202, response.body
    return list(response.body["jobs"])


def codes(answers: Sequence[dict[str, Any]]) -> list[str]:
    return [answer["error"]["code"] if "error" in answer else answer["status"] for answer in answers]


def test_each_entry_is_answered_in_order(api: Api) -> None:
    answers = batch(api, job(name="a"), {"name": "b"}, 3, job(name="c", delay=3600), job(cron="x"), job(every=3600))
    assert codes(answers) == [
        "DISPATCHED",
        "invalid_request",
        "invalid_request",
        "PENDING",
        "invalid_request",
        "ACTIVE",
    ]
    assert (answers[0]["name"], answers[3]["name"]) == ("a", "c")
    assert [answers[n]["error"]["details"][0]["field"] for n in (1, 2, 4)] == ["target", "body", "cron"]


def test_an_entry_is_accepted_as_if_it_had_come_alone(api: Api) -> None:
    fields = {"delay": 3600, "name": "x", "description": "y", "tags": {"a": "b"}}
    alone = api.submit(**fields).body
    (together,) = batch(api, job(**fields))
    assert {**alone, "job_id": ""} == {**together, "job_id": ""}
    shown = [api.get(f"/v1/jobs/{one['job_id']}").body for one in (alone, together)]
    own = {"job_id": "", "trace_id": ""}
    assert {**shown[0], **own} == {**shown[1], **own}


def test_five_hundred_jobs_are_accepted_and_those_due_soon_are_sent(api: Api, world: World) -> None:
    soon = [job(payload=n, delay=n % 3) for n in range(400)]
    answers = batch(api, *soon, *(job(every=60) for _ in range(50)), *(job(delay=3600) for _ in range(50)))
    ids = [answer["job_id"] for answer in answers]
    assert len(set(ids)) == 500
    world.clock.advance(600)
    sent: list[str] = []
    while received := world.received():
        sent += [one.message.run_id for one in received]
    assert sorted(run_id for run_id in sent if "." not in run_id) == sorted(ids[:400])
    assert {run_id.partition(".")[0] for run_id in sent if "." in run_id} == set(ids[400:450])


def test_large_payloads_are_kept_apart(api: Api) -> None:
    payloads = ["x" * 5000, "y" * 5000, "x" * 5000]
    answers = batch(api, *(job(payload=payload) for payload in payloads))
    assert [api.get(f"/v1/jobs/{answer['job_id']}").body["payload"] for answer in answers] == payloads


def test_a_key_that_comes_twice_in_a_batch_is_one_job(api: Api) -> None:
    entry = job(idempotency_key="k", delay=5)
    first, again, conflict = batch(api, entry, entry, job(idempotency_key="k", delay=6))
    assert first == again
    assert conflict["error"]["code"] == "idempotency_conflict"
    assert len(api.stored()) == 2


def test_a_key_is_compared_with_what_is_stored_and_not_with_its_neighbour(api: Api) -> None:
    stored = api.submit(idempotency_key="k", delay=5).body
    answers = batch(api, job(idempotency_key="k", delay=6), job(idempotency_key="k", delay=5))
    assert (answers[0]["error"]["code"], answers[1]) == ("idempotency_conflict", stored)


def test_a_late_retry_of_a_batch_is_answered_like_the_first(api: Api, world: World) -> None:
    entries = [
        job(idempotency_key="a", at="2026-03-01T12:00:10Z"),
        job(idempotency_key="b", cron="* * * * *", end_at="2026-03-01T13:00:00Z"),
        job(idempotency_key="c", delay=3),
    ]
    first = batch(api, *entries)
    world.clock.advance(3 * 86_400)
    again = batch(api, *entries, job(idempotency_key="d", at="2026-03-01T12:00:10Z"))
    assert [answer["job_id"] for answer in again[:3]] == [answer["job_id"] for answer in first]
    assert again[3]["error"]["details"][0]["field"] == "at"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "jobs"),
        ({"jobs": []}, "jobs"),
        ({"jobs": {}}, "jobs"),
        ({"jobs": None}, "jobs"),
        ({"jobs": [{}] * 501}, "jobs"),
        ({"jobs": [{}], "job": 1}, "job"),
    ],
)
def test_what_is_no_batch_is_refused_by_name(api: Api, body: dict[str, Any], field: str) -> None:
    response = api.send("POST", "/v1/jobs/batch", **body)
    assert (response.status, fields_of(response)) == (422, {field})


def test_one_key_does_not_stand_for_many_jobs(api: Api) -> None:
    response = api.send("POST", "/v1/jobs/batch", {"Idempotency-Key": "k"}, jobs=[job()])
    assert (response.status, fields_of(response)) == (422, {"Idempotency-Key"})


def test_a_batch_of_more_than_five_megabytes_is_too_large(api: Api) -> None:
    whole = json.dumps({"jobs": [job(payload="x" * 900_000) for _ in range(5)]}).encode()
    assert api.call("POST", "/v1/jobs/batch", whole.ljust(MAX_BATCH_BODY)).status == 202
    response = api.call("POST", "/v1/jobs/batch", whole.ljust(MAX_BATCH_BODY + 1))
    assert (response.status, response.body["error"]["code"]) == (413, "too_large")


def test_an_entry_may_be_as_deep_as_a_job_of_its_own(api: Api) -> None:
    payload: Any = 1
    for _ in range(98):
        payload = [payload]
    assert api.submit(payload=payload).status == 202
    assert codes(batch(api, job(payload=payload))) == ["DISPATCHED"]


def test_a_payload_that_is_too_large_costs_its_entry_only(api: Api) -> None:
    answers = batch(api, job(payload="x" * 1024 * 1024), job())
    assert codes(answers) == ["too_large", "DISPATCHED"]


class LostReplies(Instead):
    """A store whose first answer to a write never arrives: the second try meets the first."""

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Any:
        self.part.create_many(records, deadline)
        return self.part.create_many(records, deadline)


def test_a_lost_reply_loses_no_message(api: Api, world: World) -> None:
    answers = batch(api.on(store=LostReplies(world.store)), job(), job(delay=1))
    assert codes(answers) == ["DISPATCHED", "DISPATCHED"]
    simulation = Simulation(world)
    simulation.let_pass(2)
    assert len(simulation.target.calls) == 2


class HalfStore(Instead):
    """A store in which every second write stays undecided."""

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> list[Moved | Refused | Undecided]:
        kept = self.part.create_many(records[::2], deadline)
        return [kept[n // 2] if n % 2 == 0 else Undecided("throttled by table x") for n in range(len(records))]


def test_what_is_undecided_says_to_send_it_again(api: Api, world: World) -> None:
    answers = batch(api.on(store=HalfStore(world.store)), *(job(name=str(n)) for n in range(4)))
    assert sorted(codes(answers)) == ["DISPATCHED", "DISPATCHED", "unavailable", "unavailable"]
    refused, _ = (answer for answer in answers if "error" in answer)
    assert "send it again" in refused["error"]["message"]
    assert "table" not in str(answers)


class NoBlobs(Instead):
    def put(self, key: str, content: bytes) -> None:
        raise Unavailable("bucket x")


def test_a_payload_that_cannot_be_kept_costs_its_entry_only(api: Api, world: World) -> None:
    answers = batch(api.on(blobs=NoBlobs(world.blobs)), job(), job(payload="x" * 5000))
    assert codes(answers) == ["DISPATCHED", "unavailable"]


class CountedGates(Instead):
    reads = 0

    def read(self, gate: Any) -> Any:
        self.reads += 1
        return self.part.read(gate)


def test_the_flag_of_a_queue_is_read_once_for_a_batch(api: Api, world: World) -> None:
    gates = CountedGates(world.gates)
    assert codes(batch(api.on(gates=gates), job(), job(), job(every=1))) == ["DISPATCHED", "DISPATCHED", "ACTIVE"]
    assert gates.reads == 1
