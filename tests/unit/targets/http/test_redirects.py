"""Redirects of HTTP targets: a few are followed, each under the same rules as the first call."""

import threading
import time
from typing import Any

import pytest

from onthedot.core.ports import Answer
from onthedot.targets import countdown
from onthedot.targets.http.messages import MAX_REDIRECTS
from tests.unit.targets.http.peer import (
    Peer,
    a_call,
    a_caller,
    a_peer,
    hanging,
    leading_to,
    one_after_the_other,
    reply,
    resolving_to,
    sending,
)
from tests.unit.targets.kit import JumpingClock

DONE = reply(200, b"done")
SIGNATURE = {"webhook-id": "run-7", "webhook-timestamp": "1767225600", "webhook-signature": "v1,abc"}


def moved(status: int, location: str) -> bytes:
    return reply(status, headers={"Location": location})


def followed(*contents: bytes, **target: Any) -> tuple[Answer, Peer]:
    """Return the answer of a call, and its peer, which sends these replies, one for each request."""
    with a_peer(one_after_the_other(*contents)) as peer:
        return a_caller().perform(a_call(peer.url, signature=SIGNATURE, **target)), peer


def sent_elsewhere(status: int = 307, **target: Any) -> Peer:
    """Return a peer of another origin that has received a redirected call."""
    with a_peer(sending(DONE)) as second, a_peer(leading_to(second.url, status)) as first:
        assert a_caller().perform(a_call(first.url, signature=SIGNATURE, **target)).ok
    return second


def refused(answer: Answer, error_class: str = "redirect") -> str:
    """Return why a redirect is not followed. The answer must be final."""
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, error_class)
    return answer.error or ""


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_307_and_308_repeat_the_request_with_its_body(status: int, method: str) -> None:
    answer, peer = followed(moved(status, "/other?x=1#part"), DONE, method=method)
    assert answer == Answer(ok=True, result="done")
    assert peer.asked == [f"{method} /hook", f"{method} /other?x=1"]
    assert peer.bodies == [b'{"n": 1}'] * 2
    assert (peer.headers["content-type"], peer.headers["content-length"]) == ("application/json", "8")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_every_redirect_of_a_get_or_head_is_followed(status: int, method: str) -> None:
    answer, peer = followed(moved(status, "there"), b"HTTP/1.1 204 No Content\r\n\r\n", method=method)
    assert (answer, peer.asked) == (Answer(ok=True), [f"{method} /hook", f"{method} /there"])


def test_303_is_followed_with_a_get_without_the_body_and_what_described_it() -> None:
    answer, peer = followed(moved(303, "/seen"), DONE)
    assert (answer.result, peer.asked, peer.bodies) == ("done", ["POST /hook", "GET /seen"], [b'{"n": 1}', b""])
    assert not {"content-type", "content-length", *SIGNATURE} & peer.headers.keys()
    assert peer.headers["idempotency-key"] == "run-7"


@pytest.mark.parametrize("status", [301, 302])
def test_301_and_302_of_a_post_are_refused_with_the_host_alone(status: int) -> None:
    answer, peer = followed(moved(status, "https://other.test:8/secret"))
    assert peer.connections == 1
    assert "other.test" in refused(answer)
    assert "secret" not in refused(answer)


@pytest.mark.parametrize(
    "location",
    ["", "http://[broken", f"http://{'h' * 9000}/", "ftp://a.test/", "http://a b/", "http://u:hunter2@a.test/", "//:0"],
)
def test_a_location_that_cannot_be_called_is_refused_with_a_short_message(location: str) -> None:
    answer, peer = followed(moved(307, location))
    error = refused(answer)
    assert len(error) < 250
    assert "hunter2" not in error
    assert peer.connections == 1


@pytest.mark.parametrize("location", ["/a\\b", "http://127.0.0.1:1\\@evil.test/", "/a\tb", "http://a.t\test/", "/é"])
def test_a_location_that_parsers_of_urls_read_differently_is_not_followed(location: str) -> None:
    answer, peer = followed(moved(307, location), DONE)
    assert "its location has spaces, control or non-ASCII characters or a backslash" in refused(answer)
    assert peer.connections == 1


def test_a_location_may_be_longer_than_a_url_that_is_stored() -> None:
    answer, peer = followed(moved(307, f"/signed?{'x' * 4000}"), DONE)
    assert (answer.result, len(peer.asked[-1])) == ("done", len("POST /signed?") + 4000)


def test_a_redirect_to_metadata_is_not_followed_even_on_a_local_stage() -> None:
    answer, _ = followed(moved(307, "http://169.254.169.254/latest/meta-data/"))
    assert "instance metadata" in refused(answer, "refused_address")


def test_a_redirect_to_a_name_of_a_denied_address_is_not_followed() -> None:
    def resolve(host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", ("127.0.0.1" if host == "first.test" else "169.254.169.254", port))]

    with a_peer(leading_to("http://second.test/")) as peer:
        answer = a_caller(resolve=resolve).perform(a_call(f"http://first.test:{peer.port}/"))
    assert refused(answer, "refused_address").startswith("second.test resolves to 169.254.169.254")


def test_the_second_connection_goes_to_the_address_that_was_checked() -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if asked.count(host) == 1 else "169.254.169.254", port))]

    with a_peer(one_after_the_other(DONE)) as second, a_peer(leading_to(f"http://b.test:{second.port}/")) as first:
        answer = a_caller(resolve=rebinding).perform(a_call(f"http://a.test:{first.port}/"))
    assert (answer.ok, asked, second.headers["host"]) == (True, ["a.test", "b.test"], f"b.test:{second.port}")


def test_as_many_redirects_as_allowed_are_followed_and_no_more() -> None:
    answer, peer = followed(*[moved(307, "/next")] * MAX_REDIRECTS, DONE)
    assert (answer.result, peer.connections, MAX_REDIRECTS) == ("done", 6, 5)
    with a_peer(leading_to("/hook")) as loop:
        refused(a_caller().perform(a_call(loop.url)))
    assert loop.connections == MAX_REDIRECTS + 1


def test_the_timeout_covers_all_places_together(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(countdown, "time", JumpingClock(59, answered.is_set))

    def slowly(connection: Any, peer: Peer) -> None:
        answered.set()  # now 59 of the 60 seconds are over
        connection.sendall(moved(307, slow.url))

    with a_peer(hanging) as slow, a_peer(slowly) as first:
        began = time.monotonic()
        answer = a_caller().perform(a_call(first.url, timeout_ms=60_000))
        took = time.monotonic() - began
    assert (answer.error_class, slow.connections) == ("timeout", 1)
    assert 0.99 < took < 30, "the second place had a timeout of its own"


SECRETS = {"Authorization": "Bearer 123456789", "Cookie": "a=b", "X-Api-Key": "k", "X-Pin": "1234"}
PLAIN = {"User-Agent": "mine", "Accept": "text/plain", "Content-Type": "application/cloudevents+json"}


def test_another_origin_gets_no_secrets_of_the_user() -> None:
    headers = sent_elsewhere(headers=SECRETS | PLAIN).headers
    assert not {name.lower() for name in SECRETS} & headers.keys()
    assert {name.lower(): value for name, value in PLAIN.items()}.items() <= headers.items()


def test_another_origin_gets_our_headers_and_the_signature() -> None:
    peer = sent_elsewhere()
    assert SIGNATURE.items() <= peer.headers.items()
    assert (peer.headers["idempotency-key"], peer.headers["x-onthedot-attempt"]) == ("run-7", "2")
    assert (peer.headers["host"], peer.bodies) == (f"127.0.0.1:{peer.port}", [b'{"n": 1}'])


def test_the_same_origin_gets_the_secrets_again() -> None:
    _, peer = followed(moved(307, "/next"), DONE, headers=SECRETS)
    assert {name.lower(): value for name, value in SECRETS.items()}.items() <= peer.headers.items()


def test_secrets_that_were_dropped_do_not_come_back_with_the_way() -> None:
    contents = [moved(307, "http://second.test:{port}/"), moved(307, "http://first.test:{port}/"), DONE]

    def to_and_fro(connection: Any, peer: Peer) -> None:
        connection.sendall(contents.pop(0).replace(b"{port}", b"%d" % peer.port))

    with a_peer(to_and_fro) as peer:
        caller = a_caller(resolve=resolving_to("127.0.0.1"))
        assert caller.perform(a_call(f"http://first.test:{peer.port}/", headers=SECRETS)).ok
    assert (peer.headers["host"], "authorization" in peer.headers) == (f"first.test:{peer.port}", False)
