"""Payloads are removed when no job uses them any more, and never while one may."""

from contextlib import suppress
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.schema import PAYLOADS
from onthedot.jobs import remove_payloads
from onthedot.jobs.contents import Owner, owner_of
from onthedot.jobs.remove_payloads import NOTE, remove_unused_payloads
from tests.builders import DEPLOYMENT, World
from tests.unit.api.kit import URL, Api

HOUR = 3600
DAY = 24 * HOUR
HISTORY = DEPLOYMENT.history_days * DAY
FAR = "2034-01-01T00:00:00Z"
LARGE = "x" * 5_000


def a_pass(world: World, seconds: float = 60) -> dict[str, int]:
    deadline = Deadline.after(world.clock.now(), round(seconds * 1000))
    return dict(remove_unused_payloads(world.engine, world.blobs, deadline))


def two_passes(world: World) -> None:
    """A round that finds unused payloads, and the pass an hour later that deletes them."""
    world.clock.advance(DAY)
    a_pass(world)
    world.clock.advance(HOUR)
    a_pass(world)


def payloads(world: World) -> list[str]:
    return list(world.blobs.keys(PAYLOADS, "", 100_000))


def payload_of(world: World, job_id: str) -> str:
    job = Api(world).record(job_id)
    assert job.definition is not None
    assert job.definition.payload_ref is not None
    return job.definition.payload_ref


def forget(world: World, job_id: str) -> None:
    """Delete the record, as its time to live does."""
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE run_id = ?", (job_id,))


def test_the_payload_of_a_job_that_is_gone_is_removed_and_no_other(world: World, api: Api) -> None:
    gone, live = api.job(at=FAR, payload=LARGE), api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY)
    forget(world, gone)
    two_passes(world)
    assert payloads(world) == [payload_of(world, live)]
    assert api.get(f"/v1/jobs/{live}").body["payload"] == LARGE


def test_a_payload_that_a_change_replaced_is_removed(world: World, api: Api) -> None:
    job_id = api.job(at=FAR, payload=LARGE)
    api.send("PATCH", f"/v1/jobs/{job_id}", payload=LARGE + "2")
    assert len(payloads(world)) == 2
    world.clock.advance(HISTORY)
    two_passes(world)
    assert payloads(world) == [payload_of(world, job_id)]
    api.send("PATCH", f"/v1/jobs/{job_id}", payload="small")
    two_passes(world)
    assert payloads(world) == []


def test_a_change_back_to_the_same_payload_is_a_payload_of_its_own(world: World, api: Api) -> None:
    """Otherwise a pass that had found the first one unused could delete what the job needs now."""
    job_id = api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY + DAY)
    api.send("PATCH", f"/v1/jobs/{job_id}", payload="small")
    a_pass(world)
    api.send("PATCH", f"/v1/jobs/{job_id}", payload=LARGE)
    world.clock.advance(HOUR)
    a_pass(world)
    assert api.get(f"/v1/jobs/{job_id}").body["payload"] == LARGE
    assert payloads(world) == [payload_of(world, job_id)]


def test_two_jobs_with_one_payload_do_not_share_a_blob(world: World, api: Api) -> None:
    job = {"callback_url": URL, "at": FAR, "payload": LARGE}
    answers = api.send("POST", "/v1/jobs/batch", jobs=[job, job]).body["jobs"]
    assert len({payload_of(world, answer["job_id"]) for answer in answers}) == 2


def test_a_repeated_request_leaves_one_payload_in_the_end(world: World, api: Api) -> None:
    answers = [api.submit({"idempotency-key": "k"}, at=FAR, payload=LARGE).body for _ in range(2)]
    first = answers[0]["job_id"]
    assert answers[1]["job_id"] == first
    world.clock.advance(HISTORY)
    two_passes(world)
    assert payloads(world) == [payload_of(world, first)]


def test_a_payload_whose_job_was_never_stored_is_removed(world: World) -> None:
    """The API died between the two writes."""
    name = Owner("job_" + "a" * 26, world.clock.now()).fresh_name()
    world.blobs.put(f"{PAYLOADS}0123456789abcdef/{name}", b"{}")
    two_passes(world)
    assert len(payloads(world)) == 1, "its job may still be stored"
    world.clock.advance(HISTORY)
    two_passes(world)
    assert payloads(world) == []


def test_a_payload_stays_while_its_job_can_be_seen_and_redriven(world: World, api: Api) -> None:
    job_id = api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY)
    api.send("DELETE", f"/v1/jobs/{job_id}")
    two_passes(world)
    assert payloads(world) == [payload_of(world, job_id)], "a tombstone may still have jobs to end with it"
    forget(world, job_id)
    two_passes(world)
    assert payloads(world) == []


def test_a_payload_of_a_job_that_cannot_be_read_stays(world: World, api: Api) -> None:
    damaged = api.job(at=FAR, payload=LARGE)
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET format = 99 WHERE run_id = ?", (damaged,))
    world.clock.advance(HISTORY)
    two_passes(world)
    assert len(payloads(world)) == 1


def test_a_payload_of_a_workflows_job_stays(world: World, api: Api) -> None:
    """The workflow makes its graph many times, and the jobs of each need it."""
    job = {"key": "a", "callback_url": URL, "payload": LARGE}
    answer = api.send("POST", "/v1/workflows", jobs=[job], at=FAR)
    assert answer.status < 300, answer.body
    shared = [key for key in payloads(world) if owner_of(key) is None]
    assert len(shared) == 1
    world.clock.advance(HISTORY)
    two_passes(world)
    assert set(shared) <= set(payloads(world))


def test_what_is_found_unused_is_not_deleted_at_once(world: World, api: Api) -> None:
    """An attempt may have read the job before it was changed, and reads the payload a moment later."""
    job_id = api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY + DAY)
    forget(world, job_id)
    a_pass(world)
    a_pass(world)
    world.clock.advance(remove_payloads.GRACE_MS / 1000 - 1)
    a_pass(world)
    assert len(payloads(world)) == 1
    world.clock.advance(1)
    assert a_pass(world)["payloads_removed"] == 1
    assert payloads(world) == []


def test_passes_are_bounded_and_go_on_where_the_last_one_ended(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remove_payloads, "PAGE", 3)
    monkeypatch.setattr(remove_payloads, "MOST_LISTED", 6)
    jobs = [api.job(at=FAR, payload=LARGE) for _ in range(20)]
    world.clock.advance(HISTORY + DAY)
    for job_id in jobs[::2]:
        forget(world, job_id)
    for _ in range(5):
        assert a_pass(world).get("payloads_listed", 0) <= 6
        world.clock.advance(HOUR)
    assert sorted(payloads(world)) == sorted(payload_of(world, job_id) for job_id in jobs[1::2])
    assert a_pass(world) == {}, "a round begins once a day"


def test_a_pass_without_time_loses_nothing(world: World, api: Api) -> None:
    job_id = api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY)
    a_pass(world, seconds=-1)
    two_passes(world)
    assert payloads(world) == [payload_of(world, job_id)]


class Dying:
    """Blobs whose process dies at one of its calls, before or after the call was made."""

    def __init__(self, world: World, at: int, *, after: bool) -> None:
        self._blobs, self._left, self._after = world.blobs, at, after

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self._after:
                raise Unavailable("killed")
            answer = getattr(self._blobs, name)(*arguments)
            if self._left < 0:
                raise Unavailable("killed")
            return answer

        return call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(6))
def test_a_pass_that_dies_anywhere_deletes_no_payload_that_is_needed(
    world: World, api: Api, at: int, *, after: bool
) -> None:
    jobs = [api.job(at=FAR, payload=LARGE) for _ in range(4)]
    world.clock.advance(HISTORY + DAY)
    for job_id in jobs[:2]:
        forget(world, job_id)
    for _ in range(3):
        dying: Any = Dying(world, at, after=after)
        with suppress(Unavailable):
            remove_unused_payloads(world.engine, dying, Deadline.after(world.clock.now(), 60_000))
        world.clock.advance(HOUR)
    needed = {payload_of(world, job_id) for job_id in jobs[2:]}
    assert needed <= set(payloads(world))
    two_passes(world)
    two_passes(world)
    assert set(payloads(world)) == needed


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b'{"began_at":"x"}'])
def test_a_damaged_note_begins_a_new_round(world: World, api: Api, content: bytes) -> None:
    job_id = api.job(at=FAR, payload=LARGE)
    world.clock.advance(HISTORY)
    forget(world, job_id)
    world.blobs.put(NOTE, content)
    two_passes(world)
    assert payloads(world) == []
