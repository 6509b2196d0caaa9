"""A batch on an engine that fails: stored jobs are sent, and each entry that was not stored says so."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import Record
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.jobs.test_batch import codes, job
from tests.unit.api.kit import ACME


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


class Instead:
    """A part of an engine, some of it replaced."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)


def batch(world: World, *jobs: Any, **parts: Any) -> Response:
    body = json.dumps({"jobs": list(jobs)}).encode()
    response = handle(replace(world.engine, **parts), Request("POST", "/v1/jobs/batch", body=body, principal=ACME))
    assert response.status == 202, response.body
    return response


class LostReplies(Instead):
    """A store whose first answer to a write never arrives: the second try meets the first."""

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Any:
        self.part.create_many(records, deadline)
        return self.part.create_many(records, deadline)


def test_a_lost_reply_loses_no_message(world: World) -> None:
    response = batch(world, job(), job(delay=1), store=LostReplies(world.store))
    assert codes(response.body["jobs"]) == ["DISPATCHED", "DISPATCHED"]
    simulation = Simulation(world)
    simulation.let_pass(2)
    assert len(simulation.target.calls) == 2


class HalfStore(Instead):
    """A store in which every second write stays undecided."""

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> list[Moved | Refused | Undecided]:
        kept = self.part.create_many(records[::2], deadline)
        return [kept[n // 2] if n % 2 == 0 else Undecided("throttled by table x") for n in range(len(records))]


def test_what_is_undecided_says_to_send_it_again(world: World) -> None:
    response = batch(world, *(job(name=str(n)) for n in range(4)), store=HalfStore(world.store))
    assert sorted(codes(response.body["jobs"])) == ["DISPATCHED", "DISPATCHED", "unavailable", "unavailable"]
    refused, _ = (answer for answer in response.body["jobs"] if "error" in answer)
    assert "send it again" in refused["error"]["message"]
    assert "table" not in response.text


class NoBlobs(Instead):
    def put(self, key: str, content: bytes) -> None:
        raise Unavailable("bucket x")


def test_a_payload_that_cannot_be_kept_costs_its_entry_only(world: World) -> None:
    response = batch(world, job(), job(payload="x" * 5000), blobs=NoBlobs(world.blobs))
    assert codes(response.body["jobs"]) == ["DISPATCHED", "unavailable"]


class CountedGates(Instead):
    reads = 0

    def read(self, gate: Any) -> Any:
        self.reads += 1
        return self.part.read(gate)


def test_the_flag_of_a_queue_is_read_once_for_a_batch(world: World) -> None:
    gates = CountedGates(world.gates)
    response = batch(world, job(), job(), job(every=1), gates=gates)
    assert codes(response.body["jobs"]) == ["DISPATCHED", "DISPATCHED", "ACTIVE"]
    assert gates.reads == 1
