"""HTTP targets that hang, drip, lie and break, and calls that are asked to stop: each ends in time, and none raises."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.stopping import Stop
from onthedot.targets import countdown
from onthedot.targets.http.wire import MAX_REPLY
from tests.unit.targets.http.peer import (
    Peer,
    Script,
    a_call,
    a_caller,
    a_peer,
    dripping,
    hanging,
    leading_to,
    reply,
    sending,
)
from tests.unit.targets.kit import JumpingClock

TIMEOUT_MS = 1000
"""A busy machine must reach the phase that a test is about in this time."""
CHUNKED = {"Transfer-Encoding": "chunked"}


@contextlib.contextmanager
def within_the_timeout() -> Iterator[None]:
    """Fail when the block does not end with the timeout. The promise is 100 ms, but a busy machine needs more."""
    began = time.monotonic()
    yield
    # The peers here would go on forever.
    assert TIMEOUT_MS / 1000 - 0.01 < time.monotonic() - began < TIMEOUT_MS / 1000 + 10


def resetting(content: bytes) -> Script:
    def reset(connection: socket.socket, peer: Peer) -> None:
        connection.sendall(content)
        time.sleep(0.02)  # let it arrive: a reset overtakes bytes that are still on their way
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return reset


def failed(
    script: Script, timeout_ms: int = 30_000, reads: bool = True, payload: bytes = b"1", error_class: str = "timeout"
) -> str:
    """Return the error of a call that may be retried."""
    with a_peer(script, reads=reads) as peer:
        answer = a_caller().perform(a_call(peer.url, timeout_ms=timeout_ms, payload=payload))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, error_class)
    return answer.error or ""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(dripping(b"H"), id="drips in the status line"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nA: "), id="drips in a header"),
        pytest.param(dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="never gets beyond 100"),
        pytest.param(dripping(reply(200, b"x", {"Content-Length": "9999"})), id="drips in the body"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n\r\n"), id="drips in a body without length"),
        pytest.param(dripping(reply(200, b"", CHUNKED), b"1\r\nx\r\n"), id="drips chunks"),
        pytest.param(dripping(reply(200, b"0\r\n", CHUNKED), b"a: b\r\n"), id="drips trailers"),
    ],
)
def test_a_peer_that_drips_does_not_get_more_than_the_timeout(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr(countdown, "time", JumpingClock(59.8, begun.is_set))

    def drip(connection: socket.socket, peer: Peer) -> None:
        begun.set()  # now 59.8 of the 60 seconds are over
        script(connection, peer)

    began = time.monotonic()
    assert failed(drip, timeout_ms=60_000).endswith("while reading the answer")
    assert time.monotonic() - began < 30


def test_a_silent_peer_does_not_get_more_than_the_timeout() -> None:
    with within_the_timeout():
        assert failed(hanging, TIMEOUT_MS).endswith("while reading the answer")


def test_a_peer_that_does_not_read_does_not_get_more_than_the_timeout() -> None:
    with within_the_timeout():
        error = failed(hanging, TIMEOUT_MS, reads=False, payload=bytes(32 * 1024 * 1024))
    assert error.endswith("while sending the request")


def test_a_tls_handshake_does_not_get_more_than_the_timeout() -> None:
    with a_peer(dripping(b"\x16\x03\x03\x40\x00"), reads=False) as peer, within_the_timeout():
        answer = a_caller().perform(a_call(f"https://127.0.0.1:{peer.port}/", timeout_ms=TIMEOUT_MS))
    assert answer.error_class == "timeout"
    assert "TLS" in (answer.error or "")


def test_a_resolver_that_hangs_does_not_get_more_than_the_timeout() -> None:
    released = threading.Event()

    def hang(*_: object) -> list[tuple[object, ...]]:
        released.wait(60)
        return []

    with within_the_timeout():
        answer = a_caller(resolve=hang).perform(a_call("http://target.test/", timeout_ms=TIMEOUT_MS))
    released.set()
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "timeout")


def test_a_call_without_time_is_not_made() -> None:
    with a_peer(hanging) as peer:
        assert a_caller().perform(a_call(peer.url, timeout_ms=0)).error_class == "timeout"
        assert peer.connections == 0


def test_a_failure_whose_body_drips_is_still_judged_by_its_status() -> None:
    with a_peer(dripping(reply(404, b"", {"Content-Length": "999"}))) as peer, within_the_timeout():
        answer = a_caller().perform(a_call(peer.url, timeout_ms=TIMEOUT_MS))
    assert (answer.error_class, answer.retryable) == ("http_404", False)


@pytest.mark.parametrize("headers", [{"Content-Length": str(10**12)}, {"Connection": "close", "Content-Length": "x"}])
def test_of_a_huge_body_no_more_is_read_than_the_limit(headers: dict[str, str]) -> None:
    with a_peer(dripping(reply(200, b"", headers), b"y" * RESULT_BYTES)) as peer:
        assert a_caller().perform(a_call(peer.url)) == Answer(ok=True, result="y" * RESULT_BYTES)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param("é".encode() * (RESULT_BYTES // 2), RESULT_BYTES, id="just long enough"),
        pytest.param(b"\xff" * RESULT_BYTES, RESULT_BYTES - 2, id="no text"),
        pytest.param("€".encode() * RESULT_BYTES, RESULT_BYTES - 2, id="letters of three bytes"),
    ],
)
def test_a_result_that_is_cut_is_still_text_and_no_longer_than_it_may_be(body: bytes, kept: int) -> None:
    with a_peer(sending(reply(200, body))) as peer:
        result = a_caller().perform(a_call(peer.url)).result or ""
    assert kept <= len(result.encode()) <= RESULT_BYTES
    assert len(set(result)) == 1


def test_a_chunk_of_negative_size_does_not_make_us_read_for_ever() -> None:
    # http.client of Python 3.11 accepts the size -1 and reads to the end.
    error = failed(dripping(reply(200, b"-1\r\n", CHUNKED), b"z" * MAX_REPLY), error_class="protocol")
    assert "not valid HTTP" in error


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"\x00\xff" * 50, id="binary"),
        pytest.param(b"HTTP/2 200\r\n\r\n", id="another version"),
        pytest.param(b"HTTP/1.1 two hundred\r\n\r\n", id="no status"),
        pytest.param(b"HTTP/1.1 99999 OK\r\n\r\n", id="status too large"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", id="header too long"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", id="too many headers"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20, id="interim answers only"),
        pytest.param(reply(200, b"-5\r\nabc", CHUNKED), id="negative chunk"),
    ],
)
def test_garbage_is_a_failure_with_a_readable_error(content: bytes) -> None:
    error = failed(sending(content), error_class="protocol")
    assert "not valid HTTP" in error
    assert error.isprintable()
    assert len(error) < 250


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(sending(b""), id="closed without an answer"),
        pytest.param(sending(reply(200, b"half", {"Content-Length": "100"})), id="closed in the body"),
        pytest.param(sending(reply(200, b"64\r\nhalf", CHUNKED)), id="closed in a chunk"),
        pytest.param(resetting(reply(200, b"half", {"Content-Length": "100"})), id="reset in the body"),
    ],
)
def test_a_connection_that_breaks_is_tried_again(script: Script) -> None:
    failed(script, error_class="connection")


def test_a_refused_connection_is_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without listening, so that no other process gets the port
        port = taken.getsockname()[1]
        answer = a_caller().perform(a_call(f"http://127.0.0.1:{port}/"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")
    assert f"127.0.0.1 port {port}" in (answer.error or "")


def test_an_answer_given_before_the_whole_payload_was_read_counts() -> None:
    def answering(connection: socket.socket, peer: Peer) -> None:
        connection.recv(1)  # the caller sends: a reset before that could fail its connect
        resetting(reply(413))(connection, peer)

    with a_peer(answering, reads=False) as peer:
        answer = a_caller().perform(a_call(peer.url, payload=bytes(32 * 1024 * 1024)))
    assert (answer.error_class, answer.retryable) == ("http_413", False)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", reply(200, b"", CHUNKED)]))
@example(b"-1\r\n", reply(200, b"", CHUNKED))
def test_nothing_that_a_peer_sends_raises(content: bytes, start: bytes) -> None:
    with a_peer(sending(start + content)) as peer:
        assert isinstance(a_caller().perform(a_call(peer.url)), Answer)


LONG_MS = 60_000
STOPPED = Answer(ok=False, error="stopped: cancelled", error_class="stopped")


@contextmanager
def soon() -> Iterator[None]:
    """Fail when the block takes long. The calls here would wait for a minute."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 30


def asking(stop: Stop, start: bytes = b"") -> Script:
    """Return a script that sends this, requests the stop, and then never ends the connection."""

    def ask(connection: socket.socket, peer: Peer) -> None:
        connection.sendall(start)
        time.sleep(0.05)  # so that the caller waits in most runs. The result must not depend on it
        stop.ask("cancelled")
        peer.over.wait()

    return ask


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", id="before the answer"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: ", id="in a header"),
        pytest.param(reply(200, b"half", {"Content-Length": "100"}), id="in the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhalf", id="in a body that would end with the connection"),
        pytest.param(reply(200, b"5\r\nab", {"Transfer-Encoding": "chunked"}), id="in a chunk"),
    ],
)
def test_a_read_that_waits_ends_when_asked(start: bytes) -> None:
    stop = Stop()
    with a_peer(asking(stop, start)) as peer, soon():
        assert a_caller().perform(a_call(peer.url, LONG_MS, stop=stop)) == STOPPED


@pytest.mark.parametrize(
    ("scheme", "payload"), [("http", bytes(32 * 1024 * 1024)), ("https", b"1")], ids=["sending", "TLS handshake"]
)
def test_a_peer_that_does_not_read_is_given_up_when_asked(scheme: str, payload: bytes) -> None:
    stop = Stop()
    with a_peer(asking(stop), reads=False) as peer, soon():
        call = a_call(f"{scheme}://127.0.0.1:{peer.port}/", LONG_MS, payload=payload, stop=stop)
        assert a_caller().perform(call) == STOPPED


def test_a_connection_that_nobody_takes_is_given_up_when_asked() -> None:
    stop = Stop()
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = full.getsockname()[1]
        for _ in range(4):  # more than the backlog holds: the system answers no more
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        timer = threading.Timer(0.1, stop.ask, ["cancelled"])
        timer.start()
        with soon():
            assert a_caller().perform(a_call(f"http://127.0.0.1:{port}/", LONG_MS, stop=stop)) == STOPPED
        timer.join()


def test_a_name_that_nobody_resolves_is_given_up_when_asked() -> None:
    stop, released = Stop(), threading.Event()

    def hang(*_: object) -> list[tuple[object, ...]]:
        stop.ask("cancelled")
        released.wait(60)
        return []

    with soon():
        assert a_caller(resolve=hang).perform(a_call("http://target.test/", LONG_MS, stop=stop)) == STOPPED
    released.set()


def test_a_call_that_is_already_to_stop_is_not_made() -> None:
    stop = Stop()
    stop.ask("cancelled")
    with a_peer(sending(reply())) as peer:
        assert a_caller().perform(a_call(peer.url, stop=stop)) == STOPPED
        assert peer.connections == 0


def test_the_second_place_of_a_redirect_ends_when_asked() -> None:
    stop = Stop()
    with a_peer(asking(stop)) as second, a_peer(leading_to(second.url)) as first, soon():
        assert a_caller().perform(a_call(first.url, LONG_MS, stop=stop)) == STOPPED
