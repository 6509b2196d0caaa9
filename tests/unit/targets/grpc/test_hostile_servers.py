"""gRPC servers that attack: with endless types, and with public addresses that should be called without TLS."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2

from onthedot.targets.countdown import Countdown
from onthedot.targets.grpc.types import MAX_BYTES, BadTypes, Types, fetch_types
from onthedot.targets.rules import grpc_destination_of as destination_of
from onthedot.targets.types import GrpcTarget
from tests.unit.targets.grpc.peer import V1, a_caller, a_peer, called, field, types
from tests.unit.targets.http.peer import resolving_to

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
    file = FileDescriptorProto()
    pool.FindFileByName("shop/messages.proto").CopyToProto(file)
    with pytest.raises(BadTypes):
        Types({file.name: file})


def test_a_public_address_beside_a_private_one_is_not_called_in_the_clear() -> None:
    destination = destination_of(GrpcTarget("orders.test:443", "shop.Orders/Place"))
    for addresses, secure in [(("10.0.0.1", "8.8.8.8"), True), (("10.0.0.1", "127.0.0.1"), False)]:
        caller = a_caller(resolve=resolving_to(*addresses))
        assert caller._find(destination, Countdown(1000)).secure is secure
