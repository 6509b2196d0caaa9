"""HTTP calls that are asked to stop: they end soon in every phase, and say why."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from tests.unit.targets.http.peer import Peer, Script, a_call, a_caller, a_peer, leading_to, reply, sending

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
