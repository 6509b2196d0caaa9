"""One unary call over one connection. This module and `types` import the grpc packages, which are slow to load."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final

import grpc
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from onthedot import __version__
from onthedot.core.ports import Answer, Call
from onthedot.targets.answers import attempt_facts, printable, refused, result_text
from onthedot.targets.countdown import Countdown, interruptible
from onthedot.targets.grpc.caller import Server
from onthedot.targets.grpc.types import (
    MAX_BYTES,
    BadTypes,
    KnownTypes,
    ReflectionRefused,
    Types,
    UnaryMethod,
    fetch_types,
)
from onthedot.targets.rules import GrpcDestination

_MAX_MESSAGE: Final = 4 * 1024 * 1024
"""The default of gRPC. The types of a large service are longer than a result may be."""
_EXCERPT: Final = 200
_FINAL: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
_REFLECTION: Final = (
    # Both versions of reflection have the same messages. Only the older version comes with a package.
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)


class GrpcCalls:
    """Calls that remember the types of servers for a short time. It is safe to use from several threads."""

    def __init__(self) -> None:
        self._known = KnownTypes()

    def perform(self, call: Call, server: Server, countdown: Countdown) -> Answer:
        """Make the call and judge its outcome. Raise Stopped, and TimeoutError."""
        try:
            with self._connected(server, countdown) as connection:
                method, request = self._prepare(connection, server, call.payload)
                countdown.phase = f"calling {server.destination.service}/{server.destination.method}"
                return _judge(method, connection.call(server.destination, request, call))
        except ReflectionRefused as refusal:
            return refused(str(refusal), refusal.error_class)
        except BadTypes as error:
            return Answer(ok=False, error=printable(str(error), _EXCERPT), error_class="bad_reflection")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                self._known.forget(server)
            return _failed(error, countdown)

    def _prepare(self, connection: "_Connection", server: Server, payload: bytes) -> tuple[UnaryMethod, bytes]:
        """Encode the request. Cached types may be outdated, so the server is asked again before a call is refused."""
        if known := self._known.find(server):
            with suppress(ReflectionRefused):
                return _encoded(known, server.destination, payload)
        types = fetch_types(server.destination.service, connection.reflect)
        self._known.keep(server, types)
        return _encoded(types, server.destination, payload)

    @contextmanager
    def _connected(self, server: Server, countdown: Countdown) -> Iterator["_Connection"]:
        countdown.phase = f"asking {server.destination.host} for its types"
        channel = self._channel(server)
        try:
            with interruptible(countdown.stop, channel.close):
                yield _Connection(channel, countdown)
        except ValueError:  # the channel was closed by a stop just before a request was sent
            countdown.raise_if_stopped()
            raise
        finally:
            channel.close()

    def _channel(self, server: Server) -> grpc.Channel:
        destination = server.destination
        options: list[tuple[str, str | int]] = [
            ("grpc.default_authority", destination.authority),
            ("grpc.primary_user_agent", f"onthedot/{__version__}"),
            ("grpc.max_receive_message_length", _MAX_MESSAGE),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if not server.secure:
            return grpc.insecure_channel(_uri(server), options)
        options.append(("grpc.ssl_target_name_override", destination.host.removesuffix(".")))
        return grpc.secure_channel(_uri(server), grpc.ssl_channel_credentials(self._roots), options)

    @cached_property
    def _roots(self) -> bytes | None:
        """The roots that the system trusts (or `SSL_CERT_FILE`), as for HTTP. With None gRPC uses its own list."""
        trusted = ssl.get_default_verify_paths().cafile
        return Path(trusted).read_bytes() if trusted else None


class _Connection:
    """A connection for one call and its reflection questions."""

    def __init__(self, channel: grpc.Channel, countdown: Countdown) -> None:
        self._channel, self._countdown = channel, countdown

    def reflect(self, questions: Sequence[ServerReflectionRequest]) -> Sequence[ServerReflectionResponse]:
        """Return one answer to each question. Raise ReflectionRefused when the server has no reflection."""
        for path in _REFLECTION:
            try:
                return self._ask(path, questions)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
        raise ReflectionRefused("the server has no reflection, which is needed to learn its types", "no_reflection")

    def _ask(self, path: str, questions: Sequence[ServerReflectionRequest]) -> Sequence[ServerReflectionResponse]:
        stream = self._channel.stream_stream(
            path,
            request_serializer=ServerReflectionRequest.SerializeToString,
            response_deserializer=ServerReflectionResponse.FromString,
        )
        answers = stream(iter(questions), timeout=self._countdown.left())
        # Read as many answers as there are questions, even if the server sends more.
        received: list[ServerReflectionResponse] = []
        size = 0
        try:
            for answer, _ in zip(answers, questions, strict=False):
                received.append(answer)
                size += answer.ByteSize()
                if size > MAX_BYTES:
                    raise BadTypes("the server sends too many types")
        finally:
            answers.cancel()
        if len(received) < len(questions):
            raise BadTypes("the server's reflection did not answer every question")
        return received

    def call(self, destination: GrpcDestination, request: bytes, call: Call) -> bytes:
        unary: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        unary = self._channel.unary_unary(f"/{destination.service}/{destination.method}")
        return unary(request, timeout=self._countdown.left(), metadata=_metadata(call))


def _metadata(call: Call) -> tuple[tuple[str, str], ...]:
    facts = attempt_facts(call)
    ours = {f"x-onthedot-{name.replace('_', '-')}": facts[name] for name in ("job", "run", "attempt", "fire_time")}
    trace = (("traceparent", call.traceparent),) if call.traceparent else ()
    return ("idempotency-key", facts["idempotency_key"]), *ours.items(), *trace


def _uri(server: Server) -> str:
    """Return a target URI of gRPC with the addresses themselves, so that gRPC does not resolve the name again."""
    port = server.destination.port
    if server.addresses[0].version == 4:
        return "ipv4:" + ",".join(f"{address}:{port}" for address in server.addresses)
    return "ipv6:" + ",".join(f"[{address}]:{port}" for address in server.addresses)


def _encoded(types: Types, destination: GrpcDestination, payload: bytes) -> tuple[UnaryMethod, bytes]:
    method = types.method(destination.service, destination.method)
    return method, method.encode(payload)


def _judge(method: UnaryMethod, reply: bytes) -> Answer:
    try:
        text = method.decode(reply)
    except BadTypes as error:
        return Answer(ok=False, error=printable(str(error), _EXCERPT), error_class="bad_reply")
    return Answer(ok=True, result=None if text is None else result_text(text.encode()))


def _failed(error: grpc.RpcError, countdown: Countdown) -> Answer:
    """Return the answer that a status means. Raise Stopped or TimeoutError when the status came from our own end."""
    countdown.raise_if_stopped()
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        countdown.left()
    what = f"{code.name} while {countdown.phase}"
    details = printable(error.details() or "", _EXCERPT)
    return Answer(
        ok=False,
        error=f"{what}: {details}" if details else what,
        error_class=f"grpc_{code.name}",
        retryable=code not in _FINAL,
    )
