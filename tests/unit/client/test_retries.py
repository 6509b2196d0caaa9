"""Which calls are repeated, how often, and with which key."""

from typing import Any

import pytest

from onthedot.client import Conflict, NotFound, RateLimited, ServerError, Unavailable, job_request
from onthedot.client.transport import NoAnswer, Reply
from tests.unit.client.scripted import JOB, LOST, REFUSED, a_client, a_refusal, a_reply

BUSY = a_refusal(503, "unavailable", "not possible just now; try again")


@pytest.mark.parametrize("trouble", [LOST, REFUSED, BUSY, a_refusal(429, "too_many"), Reply(502, b"<html>")])
def test_a_job_is_sent_again_with_the_same_key(trouble: Reply | NoAnswer) -> None:
    client, transport, pauses = a_client(trouble, trouble, a_reply(JOB, 202))
    assert client.schedule("send-email").id == "job_1"
    keys = [sent.body["idempotency_key"] for sent in transport.sent]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len(pauses) == 2
    assert all(0 < pause <= 4 for pause in pauses)


def test_two_jobs_get_two_keys_and_a_given_key_stays() -> None:
    client, transport, _ = a_client(*[a_reply(JOB, 202)] * 3)
    client.schedule("send-email")
    client.schedule("send-email")
    client.schedule("send-email", idempotency_key="welcome-42")
    first, second, third = (sent.body["idempotency_key"] for sent in transport.sent)
    assert first != second
    assert third == "welcome-42"


def test_every_entry_of_a_batch_gets_a_key_of_its_own() -> None:
    client, transport, _ = a_client(BUSY, a_reply({"jobs": [JOB, a_refused_entry()]}, 202))
    accepted, refused = client.batch([job_request("a"), job_request("b")])
    assert accepted == client_job()
    assert str(refused) == "no"
    first, again = ([job["idempotency_key"] for job in sent.body["jobs"]] for sent in transport.sent)
    assert first == again
    assert len(set(first)) == 2


def a_refused_entry() -> object:
    return {"error": {"code": "invalid_request", "message": "no", "details": []}}


def client_job() -> object:
    return a_client(a_reply(JOB))[0].get("job_1")


def test_tries_are_bounded() -> None:
    client, transport, _ = a_client(*[BUSY] * 4)
    with pytest.raises(Unavailable, match="not possible just now"):
        client.get("job_1")
    assert len(transport.sent) == 4


def test_a_run_now_is_not_repeated_when_it_may_have_happened() -> None:
    for trouble in (LOST, BUSY):
        client, transport, _ = a_client(trouble)
        with pytest.raises(Unavailable):
            client.run("job_1")
        assert len(transport.sent) == 1


def test_a_run_now_that_was_never_sent_is_repeated() -> None:
    run = {"execution_id": "job_1.x", "job_id": "job_1", "status": "DISPATCHED"}
    client, transport, _ = a_client(REFUSED, a_refusal(429, "too_many"), a_reply(run, 202))
    assert client.run("job_1").id == "job_1.x"
    assert len(transport.sent) == 3


@pytest.mark.parametrize(
    "change", [{"cron": "0 9 * * *"}, {"every": 60, "start_at": 1_800_000_000}, {"at": 1_800_000_000}]
)
def test_a_change_is_repeated(change: Any) -> None:
    client, transport, _ = a_client(LOST, BUSY, a_reply(JOB))
    assert client.change("job_1", **change).id == "job_1"
    assert [sent.body for sent in transport.sent] == [change] * 3


@pytest.mark.parametrize("change", [{"delay": 60}, {"every": 60}, {"every": 60, "start_at": None}])
def test_a_change_that_counts_from_now_is_not_repeated_when_it_may_have_happened(change: Any) -> None:
    client, transport, _ = a_client(LOST)
    with pytest.raises(Unavailable):
        client.change("job_1", **change)
    assert len(transport.sent) == 1


def test_a_change_of_a_version_is_not_repeated_because_it_would_refuse_itself() -> None:
    for trouble in (LOST, BUSY):
        client, transport, _ = a_client(trouble)
        with pytest.raises(Unavailable):
            client.change("job_1", if_version=3, name="n")
        assert [sent.headers["If-Match"] for sent in transport.sent] == ['"3"']
    client, transport, _ = a_client(REFUSED, a_reply(JOB))
    assert client.change("job_1", if_version=3, name="n").id == "job_1"
    assert "Authorization" in transport.sent[1].headers


def test_a_delete_whose_reply_was_lost_is_done_when_the_job_is_gone() -> None:
    client, _, _ = a_client(LOST, a_refusal(404, "not_found"))
    client.delete("job_1")
    client, _, _ = a_client(a_refusal(404, "not_found"))
    with pytest.raises(NotFound):
        client.delete("job_1")


def test_refusals_and_failures_for_good_are_not_repeated() -> None:
    for refusal, kind in ((a_refusal(409, "conflict"), Conflict), (a_refusal(500, "internal"), ServerError)):
        client, transport, _ = a_client(refusal)
        with pytest.raises(kind):
            client.get("job_1")
        assert len(transport.sent) == 1


def test_the_api_says_how_long_to_wait() -> None:
    client, _, pauses = a_client(a_refusal(503, "unavailable", retry_after="7"), a_reply(JOB))
    client.get("job_1")
    assert pauses == [7]


def test_a_very_long_wait_is_left_to_the_caller() -> None:
    client, _, pauses = a_client(a_refusal(429, "too_many", retry_after="3600"))
    with pytest.raises(RateLimited) as caught:
        client.get("job_1")
    assert caught.value.retry_after == 3600
    assert pauses == []


def test_an_answer_of_another_server_is_an_error_with_advice() -> None:
    for reply in (Reply(200, b"<html>"), a_reply([]), a_reply({"hello": 1})):
        client, _, _ = a_client(reply)
        with pytest.raises(Unavailable, match="is the URL right"):
            client.get("job_1")


def test_a_frozen_stage_is_not_waited_for() -> None:
    client, transport, pauses = a_client(a_refusal(503, "frozen", "the stage is frozen", retry_after="30"))
    with pytest.raises(Unavailable) as caught:
        client.cancel("job_1")
    assert (caught.value.code, caught.value.retry_after) == ("frozen", 30)
    assert (len(transport.sent), pauses) == (1, [])
