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
from tests.unit.targets.http.peer import Peer, a_call, a_caller, a_peer, reply, sending
from tests.unit.targets.kit import NOW

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


EARLY = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 102 P\r\n\r\n"


@pytest.mark.parametrize(
    ("content", "result"),
    [
        pytest.param(reply(201, b"caf\xc3\xa9"), "café", id="text"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", None, id="nothing"),
        pytest.param(
            reply(200, b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}), "abcde", id="chunks"
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nold but good", "old but good", id="to the end of the connection"),
        pytest.param(reply(200, b"a\xffb"), "a\ufffdb", id="not UTF-8"),
        pytest.param(EARLY + reply(200, b"done"), "done", id="after interim answers"),
    ],
)
def test_a_2xx_answer_is_a_success_and_its_body_the_result(content: bytes, result: str | None) -> None:
    assert answered(content) == Answer(ok=True, result=result)


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


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("payload", [b'{"a": [1, 2]}', bytes(range(256)) * 4096, b""], ids=["JSON", "large", "empty"])
def test_the_payload_is_the_body(method: str, payload: bytes) -> None:
    peer = received(method=method, payload=payload)
    assert (peer.heads[0].split("\r\n")[0], peer.bodies) == (f"{method} /hook HTTP/1.1", [payload])
    assert (peer.headers["content-type"], peer.headers["content-length"]) == ("application/json", str(len(payload)))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_have_no_body(method: str) -> None:
    peer = received(method=method)
    assert peer.bodies == [b""]
    assert not {"content-type", "content-length"} & peer.headers.keys()


@pytest.mark.parametrize(("path", "sent"), [("/a%20b;c?x=%2F&y=1#part", "/a%20b;c?x=%2F&y=1"), ("?x=1", "/?x=1")])
def test_the_path_and_query_are_sent_as_they_stand_without_the_fragment(path: str, sent: str) -> None:
    assert received(path).asked == [f"POST {sent}"]


def test_the_users_headers_are_sent_and_replace_the_defaults() -> None:
    assert received().headers["user-agent"] == f"onthedot/{__version__}"
    mine = {"content-type": "text/plain", "authorization": "Bearer café", "user-agent": "mine"}
    assert mine.items() <= received(headers=mine).headers.items()


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *((status, True) for status in (500, 502, 503, 599, 408, 425, 429, 101)),
        *((status, False) for status in (400, 401, 404, 410, 422, 499, 300, 304, 305)),
    ],
)
def test_answers_about_the_moment_are_tried_again_and_those_about_the_request_are_final(
    status: int, retryable: bool
) -> None:
    answer = answered(reply(status, headers={"Location": "http://127.0.0.1:1/"}))
    assert (answer.ok, answer.error_class, answer.retryable) == (False, f"http_{status}", retryable)


def test_the_error_quotes_one_printable_line_of_the_body() -> None:
    error = answered(reply(500, b"no\r\n\x1b[31m  such\x00 table " + b"x" * 5000)).error or ""
    assert error.startswith("answered 500: no ?[31m such? table xxx")
    assert len(error) < 250


@pytest.mark.parametrize(
    ("status", "value", "wait"),
    [
        *((status, "7", 7000) for status in (429, 503, 408, 425, 500)),
        (429, "Thu, 01 Jan 2026 00:01:00 GMT", 60_000 - NOW % 1000),
        (404, "7", None),
    ],
)
def test_retry_after_is_honoured_unless_the_answer_is_final(status: int, value: str, wait: int | None) -> None:
    assert answered(reply(status, headers={"Retry-After": value})).retry_after_ms == wait


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
