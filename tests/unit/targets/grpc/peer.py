"""A real gRPC server on loopback, with types made up here, and the calls made to it."""

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP
from grpc_reflection.v1alpha import reflection, reflection_pb2

from onthedot.core.ports import Answer, Call
from onthedot.core.stopping import Stop
from onthedot.targets.addresses import Lookup
from onthedot.targets.grpc.caller import GrpcCaller
from onthedot.targets.types import GrpcTarget
from tests.unit.targets.kit import a_call_of

V1, V1ALPHA = "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"

Serve = Callable[[Any, grpc.ServicerContext], Any]
"""Serves an order: returns a receipt, or aborts."""


def field(number: int, name: str, kind: int = FieldDescriptorProto.TYPE_STRING, **more: Any) -> FieldDescriptorProto:
    return FieldDescriptorProto(name=name, number=number, type=kind, label=1, **more)  # type: ignore[arg-type]


def types(methods: Sequence[str] = ("Place", "Watch"), *more: FieldDescriptorProto) -> DescriptorPool:
    """Return the service shop.Orders with its types in two files. One of them needs protobuf's own timestamps."""
    pool = DescriptorPool()
    pool.AddSerializedFile(TIMESTAMP.serialized_pb)
    order = DescriptorProto(name="Order")
    order.field.extend([field(1, "order_id"), field(2, "count", FieldDescriptorProto.TYPE_INT32), *more])
    order.field.append(field(3, "wanted_at", FieldDescriptorProto.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp"))
    receipt = DescriptorProto(name="Receipt", field=[field(1, "order_id"), field(2, "note")])
    messages = FileDescriptorProto(name="shop/messages.proto", package="shop", syntax="proto3")
    messages.dependency.append("google/protobuf/timestamp.proto")
    messages.message_type.extend([order, receipt])
    service = FileDescriptorProto(name="shop/orders.proto", package="shop", syntax="proto3")
    service.dependency.append("shop/messages.proto")
    orders = service.service.add(name="Orders")
    for method in methods:
        orders.method.add(
            name=method, input_type=".shop.Order", output_type=".shop.Receipt", server_streaming=method == "Watch"
        )
    pool.AddSerializedFile(messages.SerializeToString())
    pool.AddSerializedFile(service.SerializeToString())
    return pool


class Peer:
    """A server that records orders in `seen` and the metadata of the last one in `metadata`."""

    def __init__(self, serve: Serve, pool: DescriptorPool) -> None:
        self.pool = pool
        self.port = 0
        self.seen: list[Any] = []
        self.metadata: dict[str, str | bytes] = {}
        self.reflected = 0
        self._serve = serve

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def handlers(self) -> grpc.GenericRpcHandler:
        def place(request: bytes, context: grpc.ServicerContext) -> bytes:
            order = GetMessageClass(self.pool.FindMessageTypeByName("shop.Order")).FromString(request)
            self.seen.append(order)
            self.metadata = dict(context.invocation_metadata())
            answer = self._serve(order, context)
            return answer if isinstance(answer, bytes) else answer.SerializeToString()

        return grpc.method_handlers_generic_handler(
            "shop.Orders", {"Place": grpc.unary_unary_rpc_method_handler(place)}
        )

    def reflection(self, name: str) -> grpc.GenericRpcHandler:
        def reflect(questions: Any, context: grpc.ServicerContext) -> Any:
            self.reflected += 1
            servicer = reflection.ReflectionServicer(["shop.Orders"], pool=self.pool)
            for question in questions:
                for answer in servicer.ServerReflectionInfo([question], context):
                    # The servicer adds all files that a file needs. Other servers wait until they are asked.
                    del answer.file_descriptor_response.file_descriptor_proto[1:]
                    yield answer

        handler = grpc.stream_stream_rpc_method_handler(
            reflect,
            request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler})


def thanks(order: Any, _context: grpc.ServicerContext) -> bytes:
    """Return a receipt as bytes. Field 1 is the order's id, field 2 a note."""
    identity: bytes = order.order_id.encode()
    return b"\x0a" + bytes([len(identity)]) + identity + b"\x12\x06thanks"


def noting(note: str) -> Serve:
    receipt = GetMessageClass(types().FindMessageTypeByName("shop.Receipt"))
    return lambda *_: receipt(note=note)


def aborting(code: grpc.StatusCode, details: str = "because") -> Serve:
    return lambda _order, context: context.abort(code, details)


@contextlib.contextmanager
def a_peer(
    serve: Serve = thanks,
    *,
    reflections: Sequence[str] = (V1, V1ALPHA),
    pool: DescriptorPool | None = None,
    certificate: tuple[bytes, bytes] | None = None,
    host: str = "127.0.0.1",
    extra: Sequence[grpc.GenericRpcHandler] = (),
) -> Iterator[Peer]:
    peer = Peer(serve, pool or types())
    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, [peer.handlers(), *map(peer.reflection, reflections), *extra])
        if certificate:
            peer.port = server.add_secure_port(f"{host}:0", grpc.ssl_server_credentials([certificate]))
        else:
            peer.port = server.add_insecure_port(f"{host}:0")
        server.start()
        try:
            yield peer
        finally:
            server.stop(None).wait()


def a_call(
    address: str,
    payload: bytes = b'{"orderId": "o-1"}',
    *,
    method: str = "shop.Orders/Place",
    tls: bool | None = None,
    timeout_ms: int = 30_000,
    stop: Stop | None = None,
) -> Call:
    return a_call_of(GrpcTarget(address=address, method=method, tls=tls), payload, timeout_ms, stop)


def a_caller(allow_private: bool = True, resolve: Lookup = socket.getaddrinfo) -> GrpcCaller:
    return GrpcCaller(allow_private=allow_private, resolve=resolve)


def called(peer: Peer, payload: bytes = b'{"orderId": "o-1"}', **call: Any) -> Answer:
    return a_caller().perform(a_call(peer.address, payload, **call))
