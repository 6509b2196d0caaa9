"""Which calls are repeated, how often, and with which key."""

from typing import Any

import pytest

from onthedot.client import Conflict, NotFound, RateLimited, ServerError, Unavailable, job_request, requests
from onthedot.client.requests import Retries
from onthedot.client.transport import NoAnswer, Reply
from tests.unit.client.scripted import JOB, LOST, REFUSED, a_client, a_refusal, a_reply

BUSY = a_refusal(503, "unavailable", "not possible right now; try again")


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
    with pytest.raises(Unavailable, match="not possible right now"):
        client.get("job_1")
    assert len(transport.sent) == 4


ONCE: Any = [
    lambda client: client.run("job_1"),
    lambda client: client.redrive(["job_1"]),
    lambda client: list(client.bulk("run", name="n")),
    lambda client: client.change("job_1", delay=60),
    lambda client: client.change("job_1", every=60),
    lambda client: client.change("job_1", every=60, start_at=None),
    lambda client: client.change("job_1", if_version=3, name="n"),  # it would refuse itself
]
OFTEN: Any = [
    lambda client: client.change("job_1", cron="0 9 * * *"),
    lambda client: client.change("job_1", every=60, start_at=1_800_000_000),
    lambda client: client.change("job_1", at=1_800_000_000),
    lambda client: client.redrive(name="a", dry_run=True),
    lambda client: list(client.bulk("run", name="n", dry_run=True)),
    lambda client: list(client.bulk("pause", name="n")),
    lambda client: client.backfill("job_1", 0, 60),
]
ANY = {**JOB, "redriven": 0, "matched": 1, "created": 0, "existing": 1, "left": 0}


@pytest.mark.parametrize("call", ONCE)
def test_a_call_with_a_second_effect_is_not_repeated_when_it_may_have_happened(call: Any) -> None:
    for trouble in (LOST, BUSY):
        client, transport, _ = a_client(trouble)
        with pytest.raises(Unavailable):
            call(client)
        assert len(transport.sent) == 1
    client, transport, _ = a_client(REFUSED, a_refusal(429, "too_many"), a_reply({**ANY, "execution_id": "x"}))
    call(client)
    assert transport.sent[0] == transport.sent[2]


@pytest.mark.parametrize("call", OFTEN)
def test_a_call_without_a_second_effect_is_repeated(call: Any) -> None:
    client, transport, _ = a_client(LOST, BUSY, a_reply(ANY))
    call(client)
    assert transport.sent == [transport.sent[0]] * 3


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
        with pytest.raises(Unavailable, match="check the URL"):
            client.get("job_1")


def test_a_frozen_stage_is_not_waited_for() -> None:
    client, transport, pauses = a_client(a_refusal(503, "frozen", "the stage is frozen", retry_after="30"))
    with pytest.raises(Unavailable) as caught:
        client.cancel("job_1")
    assert (caught.value.code, caught.value.retry_after) == ("frozen", 30)
    assert (len(transport.sent), pauses) == (1, [])


def test_a_late_scheduler_is_an_answer_and_no_failure() -> None:
    client, transport, _ = a_client(a_reply({"status": "late", "tick_age_seconds": 600}, 503))
    assert (client.health().status, len(transport.sent)) == ("late", 1)
    client, transport, _ = a_client(*[a_refusal(502, "bad_gateway")] * 4)
    with pytest.raises(Unavailable):
        client.health()
    assert len(transport.sent) == 4


def test_a_call_may_have_retries_of_its_own() -> None:
    operation = requests.get("job_1")._replace(retries=Retries(6, 1.0, 2.0, longest=3.0, failures=True))
    failure = a_refusal(500, "internal")
    client, transport, pauses = a_client(*[failure] * 5, a_reply(JOB))
    assert client.call(operation).id == "job_1"
    assert len(transport.sent) == 6
    assert all(0.5 <= pause <= 2 for pause in pauses)
    client, transport, _ = a_client(a_refusal(503, "unavailable", retry_after="4"))
    with pytest.raises(Unavailable):
        client.call(operation)
