"""gRPC targets that are slow, absent, or speak another protocol, and calls that are asked to stop."""

import socket
import threading
import time
from typing import Any

import grpc
import pytest

from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.stopping import Stop
from tests.unit.targets.grpc.peer import a_call, a_caller, a_peer, called, noting, thanks
from tests.unit.targets.http import peer as http_peer


def test_a_reply_that_is_no_message_is_a_failure_that_may_pass() -> None:
    with a_peer(lambda *_: b"\xff\xff\xff") as peer:
        answer = called(peer)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "bad_reply")


def test_a_long_reply_is_cut() -> None:
    with a_peer(noting("x" * 2 * RESULT_BYTES)) as peer:
        answer = called(peer)
    assert answer.ok
    assert len(answer.result or "") == RESULT_BYTES


def test_a_reply_beyond_all_measure_is_not_taken() -> None:
    with a_peer(noting("x" * 5 * RESULT_BYTES)) as peer:
        assert called(peer).error_class == "grpc_RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "script",
    [
        http_peer.sending(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        http_peer.sending(b"220 mail.test ESMTP\r\n" * 100),
        http_peer.sending(bytes(range(256)) * 50),
        http_peer.sending(b""),
    ],
)
def test_a_peer_that_speaks_something_else_is_a_failure_that_may_pass(script: http_peer.Script) -> None:
    begun = time.monotonic()
    with http_peer.a_peer(script, reads=False) as peer:
        answer = a_caller().perform(a_call(f"127.0.0.1:{peer.port}", timeout_ms=3000))
    assert (answer.ok, answer.retryable) == (False, True)
    assert answer.error_class in {"grpc_UNAVAILABLE", "timeout"}
    assert time.monotonic() - begun < 30


def test_a_port_where_nobody_listens_is_a_failure_that_may_pass() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without listening, so that no other process gets the port
        answer = a_caller().perform(a_call(f"127.0.0.1:{taken.getsockname()[1]}"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "grpc_UNAVAILABLE")


def test_a_silent_peer_is_left_when_the_time_is_over() -> None:
    begun = time.monotonic()
    with http_peer.a_peer(http_peer.hanging, reads=False) as peer:
        answer = a_caller().perform(a_call(f"127.0.0.1:{peer.port}", timeout_ms=400))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "timeout")
    assert time.monotonic() - begun < 30


def test_a_slow_method_is_left_when_the_time_is_over() -> None:
    over = threading.Event()

    def slowly(order: Any, context: grpc.ServicerContext) -> bytes:
        over.wait(60)
        return thanks(order, context)

    with a_peer(slowly) as peer:
        answer = called(peer, timeout_ms=1500)
        over.set()
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "timeout")


def test_a_call_that_is_asked_to_stop_ends_at_once() -> None:
    stop, over = Stop(), threading.Event()

    def slowly(order: Any, context: grpc.ServicerContext) -> bytes:
        stop.ask("cancelled")
        over.wait(60)
        return thanks(order, context)

    begun = time.monotonic()
    with a_peer(slowly) as peer:
        answer = called(peer, timeout_ms=60_000, stop=stop)
        over.set()
    assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
    assert time.monotonic() - begun < 30


def test_a_call_that_was_asked_to_stop_before_it_began_asks_nobody() -> None:
    stop = Stop()
    stop.ask("cancelled")
    with a_peer() as peer:
        assert called(peer, stop=stop).error_class == "stopped"
    assert (peer.reflected, peer.seen) == (0, [])


def test_many_calls_at_the_same_time_do_not_mix_up() -> None:
    answers: dict[int, Answer] = {}
    with a_peer() as peer:
        caller = a_caller()

        def call(number: int) -> None:
            answers[number] = caller.perform(a_call(peer.address, b'{"orderId": "%d"}' % number, timeout_ms=20_000))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wanted = {number: Answer(ok=True, result=f'{{"orderId": "{number}", "note": "thanks"}}') for number in range(16)}
    assert answers == wanted
