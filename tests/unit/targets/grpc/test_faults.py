"""gRPC servers that are slow, absent or hostile, and calls that are asked to stop."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2

from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.stopping import Stop
from onthedot.targets.countdown import Countdown
from onthedot.targets.grpc.types import MAX_BYTES, BadTypes, Types, fetch_types
from onthedot.targets.rules import grpc_destination_of as destination_of
from onthedot.targets.types import GrpcTarget
from tests.unit.targets.grpc.peer import V1, a_call, a_caller, a_peer, called, field, noting, thanks, types
from tests.unit.targets.http import peer as http_peer
from tests.unit.targets.http.peer import resolving_to
from tests.unit.targets.kit import side_by_side


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
    with a_peer() as peer:
        caller = a_caller()

        def call(number: int) -> Answer:
            return caller.perform(a_call(peer.address, b'{"orderId": "%d"}' % number, timeout_ms=20_000))

        answers = side_by_side(16, call)
    assert [answer.result for answer in answers] == [f'{{"orderId": "{n}", "note": "thanks"}}' for n in range(16)]


MEGABYTE = 1024 * 1024


def answering(*files: FileDescriptorProto) -> reflection_pb2.ServerReflectionResponse:
    answer = reflection_pb2.ServerReflectionResponse()
    answer.file_descriptor_response.file_descriptor_proto.extend(file.SerializeToString() for file in files)
    return answer


def test_no_more_is_asked_than_would_be_taken() -> None:
    endless = FileDescriptorProto(name="a.proto", dependency=[f"{number}.proto" for number in range(100_000)])
    asked: list[int] = []

    def reflect(questions: Any) -> Any:
        asked.append(len(questions))
        assert len(asked) == 1, "it asks on"
        return [answering(endless) for _ in questions]

    with pytest.raises(BadTypes):
        fetch_types("shop.Orders", reflect)
    assert asked == [1]


def test_the_types_of_a_server_are_bounded_while_they_are_read() -> None:
    large = FileDescriptorProto(name="large.proto", package="p" * 3 * MEGABYTE)
    names = [f"{number}.proto" for number in range(500)]
    answers: list[int] = []

    def reflect(questions: Iterator[Any], _context: Any) -> Iterator[Any]:
        for question in questions:
            answers.append(1)
            first = question.file_containing_symbol
            yield answering(FileDescriptorProto(name="first.proto", dependency=names) if first else large)

    handler = grpc.stream_stream_rpc_method_handler(
        reflect,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    extra = grpc.method_handlers_generic_handler(V1, {"ServerReflectionInfo": handler})
    with a_peer(reflections=(), extra=[extra]) as peer:
        answer = called(peer, timeout_ms=20_000)
    assert answer.error_class == "bad_reflection"
    assert len(answers) < 10 * MAX_BYTES // (3 * MEGABYTE), "the rest was not waited for"


def test_a_name_that_a_reply_could_repeat_beyond_all_measure_is_not_taken() -> None:
    pool = types(("Place",), field(9, "n" * 300))
    files = {name: FileDescriptorProto() for name in ("google/protobuf/timestamp.proto", "shop/messages.proto")}
    for name, file in files.items():
        pool.FindFileByName(name).CopyToProto(file)
    with pytest.raises(BadTypes, match="too long"):
        Types(files)


def test_a_public_address_beside_a_private_one_is_not_called_in_the_clear() -> None:
    destination = destination_of(GrpcTarget("orders.test:443", "shop.Orders/Place"))
    for addresses, secure in [(("10.0.0.1", "8.8.8.8"), True), (("10.0.0.1", "127.0.0.1"), False)]:
        caller = a_caller(resolve=resolving_to(*addresses))
        assert caller._find(destination, Countdown(1000)).secure is secure
