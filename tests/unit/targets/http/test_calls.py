"""Calls of HTTP targets: the requests they receive, and the answers that their replies mean."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot import __version__
from onthedot.core.ports import Answer
from onthedot.targets.answers import MAX_RETRY_AFTER_MS
from onthedot.targets.http.messages import retry_after_ms
from tests.unit.targets.http.peer import NOW, Peer, a_call, a_caller, a_peer, reply, sending

OURS = {
    "idempotency-key": "run-7",
    "x-onthedot-job": "job-3",
    "x-onthedot-run": "run-7",
    "x-onthedot-attempt": "2",
    "x-onthedot-fire-time": "2026-01-01T00:00:00.123Z",
    "connection": "close",
}


def answered(content: bytes) -> Answer:
    """Return the answer of a call whose peer sends this."""
    with a_peer(sending(content)) as peer:
        return a_caller().perform(a_call(peer.url))


def received(path: str = "/hook", payload: bytes = b'{"n": 1}', **target: Any) -> Peer:
    """Return a peer that has received one call."""
    with a_peer(sending(reply())) as peer:
        url = f"http://127.0.0.1:{peer.port}{path}"
        assert a_caller().perform(a_call(url, payload=payload, **target)).ok
    return peer


def test_a_2xx_answer_is_a_success_and_its_body_the_result() -> None:
    assert answered(reply(201, b"caf\xc3\xa9")) == Answer(ok=True, result="café")


def test_a_success_without_a_body_has_no_result() -> None:
    assert answered(b"HTTP/1.1 204 No Content\r\n\r\n") == Answer(ok=True)


def test_a_chunked_body_is_put_together() -> None:
    assert answered(reply(200, b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"})).result == "abcde"


def test_a_body_that_ends_with_the_connection_is_a_result() -> None:
    assert answered(b"HTTP/1.0 200 OK\r\n\r\nold but good").result == "old but good"


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert answered(reply(200, b"a\xffb")).result == "a\ufffdb"


def test_interim_answers_are_not_taken_for_the_final_one() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
    assert answered(early + reply(200, b"done")) == Answer(ok=True, result="done")


def test_the_target_receives_every_header_of_the_contract() -> None:
    peer = received()
    assert OURS.items() <= peer.headers.items()
    assert peer.headers["host"] == f"127.0.0.1:{peer.port}"


def test_the_target_receives_the_trace_unless_the_job_has_its_own_header() -> None:
    ours = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for headers, sent in (({}, ours), ({"TRACEPARENT": "mine"}, "mine")):
        with a_peer(sending(reply())) as peer:
            call = replace(a_call(peer.url, headers=headers), traceparent=ours)
            assert a_caller().perform(call).ok
        assert peer.headers["traceparent"] == sent
    assert "traceparent" not in received().headers


def test_the_payload_is_the_json_body() -> None:
    peer = received(payload=b'{"a": [1, 2]}')
    assert (peer.heads[0].split("\r\n")[0], peer.bodies) == ("POST /hook HTTP/1.1", [b'{"a": [1, 2]}'])
    assert (peer.headers["content-type"], peer.headers["content-length"]) == ("application/json", "13")


def test_a_large_payload_arrives_whole() -> None:
    payload = bytes(range(256)) * 4096
    assert received(payload=payload).bodies == [payload]


def test_an_empty_payload_is_announced_as_such() -> None:
    assert received(payload=b"").headers["content-length"] == "0"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_have_no_body(method: str) -> None:
    peer = received(method=method)
    assert peer.bodies == [b""]
    assert not {"content-type", "content-length"} & peer.headers.keys()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_sent_as_asked_with_the_body(method: str) -> None:
    peer = received(method=method)
    assert (peer.heads[0].split()[0], peer.bodies) == (method, [b'{"n": 1}'])


def test_the_path_and_query_are_sent_as_they_stand_without_the_fragment() -> None:
    assert received("/a%20b;c?x=%2F&y=1#part").heads[0].startswith("POST /a%20b;c?x=%2F&y=1 HTTP/1.1\r\n")


def test_a_url_without_a_path_asks_for_the_root() -> None:
    assert received("?x=1").heads[0].startswith("POST /?x=1 HTTP/1.1\r\n")


def test_we_say_who_we_are_unless_the_user_says_otherwise() -> None:
    assert received().headers["user-agent"] == f"onthedot/{__version__}"
    assert received(headers={"User-Agent": "mine"}).headers["user-agent"] == "mine"


def test_the_users_headers_are_sent_and_their_content_type_wins() -> None:
    headers = received(headers={"content-type": "text/plain", "Authorization": "Bearer café"}).headers
    assert (headers["content-type"], headers["authorization"]) == ("text/plain", "Bearer café")


@pytest.mark.parametrize("name", [*OURS, "host", "CONTENT-LENGTH", "Transfer-Encoding", "webhook-id", "X-Onthedot-New"])
def test_a_target_that_sets_our_headers_or_the_framing_is_not_called(name: str) -> None:
    with a_peer(sending(reply())) as peer:
        answer = a_caller().perform(a_call(peer.url, headers={name: "mine"}))
    assert (answer.ok, answer.retryable, answer.error_class, peer.connections) == (False, False, "bad_request", 0)
    assert answer.error == f"target.headers.{name} is set by the scheduler or the connection itself; remove it"


@pytest.mark.parametrize("status", [500, 502, 503, 599, 408, 425, 429, 101])
def test_answers_about_the_moment_are_tried_again(status: int) -> None:
    assert answered(reply(status)) == Answer(
        ok=False, error=f"answered {status}", error_class=f"http_{status}", retryable=True
    )


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422, 499])
def test_answers_about_the_request_are_final(status: int) -> None:
    assert answered(reply(status)) == Answer(
        ok=False, error=f"answered {status}", error_class=f"http_{status}", retryable=False
    )


def test_the_error_quotes_one_printable_line_of_the_body() -> None:
    error = answered(reply(500, b"no\r\n\x1b[31m  such\x00 table " + b"x" * 5000)).error or ""
    assert error.startswith("answered 500: no ?[31m such? table xxx")
    assert len(error) < 250


def test_a_failure_is_final_by_its_status_even_if_its_body_breaks() -> None:
    assert not answered(reply(404, b"half", {"Content-Length": "100"})).retryable


@pytest.mark.parametrize("status", [429, 503, 408, 425, 500])
def test_retry_after_in_seconds_is_honoured(status: int) -> None:
    assert answered(reply(status, headers={"Retry-After": "7"})).retry_after_ms == 7000


def test_retry_after_as_a_date_is_honoured() -> None:
    answer = answered(reply(429, headers={"Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT"}))
    assert answer.retry_after_ms == 60_000 - NOW % 1000


def test_retry_after_means_nothing_on_a_final_answer() -> None:
    assert answered(reply(404, headers={"Retry-After": "7"})).retry_after_ms is None


@pytest.mark.parametrize("value", ["", "-5", "soon", "1.5", "٣", "Thu, 01 Jan 2015 00:00:00 GMT", "0 0 0"])
def test_a_retry_after_that_makes_no_sense_is_ignored(value: str) -> None:
    assert retry_after_ms(value, NOW) is None


@pytest.mark.parametrize(
    "value",
    ["86401", "999999", "9" * 19, "9" * 5000, "Thu, 01 Jan 2099 00:00:00 GMT", "Thursday, 01-Jan-37 00:00:00 GMT"],
)
def test_retry_after_is_bounded_to_a_day(value: str) -> None:
    assert retry_after_ms(value, NOW) == MAX_RETRY_AFTER_MS


@settings(deadline=None)
@given(st.text() | st.builds("Thu, {} Jan {} {}:{}:{} {:+}".format, *[st.integers()] * 6))
def test_no_retry_after_breaks_anything(value: str) -> None:
    assert 0 <= (retry_after_ms(value, NOW) or 0) <= MAX_RETRY_AFTER_MS


@pytest.mark.parametrize("status", [300, 304, 305])
def test_what_looks_like_a_redirect_and_leads_nowhere_is_final(status: int) -> None:
    answer = answered(reply(status, headers={"Location": "http://127.0.0.1:1/"}))
    assert answer == Answer(ok=False, error=f"answered {status}", error_class=f"http_{status}", retryable=False)
