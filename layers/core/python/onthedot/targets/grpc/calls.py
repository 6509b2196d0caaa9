"""One unary call over one connection. Everything that needs the grpc package, which is slow to import, starts here."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final

import grpc
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from onthedot import __version__
from onthedot.ports import Answer, Call
from onthedot.targets.answers import printable, refused, result_text, timed_out
from onthedot.targets.attempt import about, interruptible
from onthedot.targets.grpc.caller import GrpcDestination, Server
from onthedot.targets.grpc.types import MAX_BYTES, BadTypes, KnownTypes, Method, ReflectionRefused, Types, fetch_types
from onthedot.targets.http.wire import Countdown

_MAX_MESSAGE: Final = 4 * 1024 * 1024
"""What gRPC itself takes by default: the types of a large service are more than a result may be."""
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
    # The messages of both are the same; only the older one comes with a package.
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)


class Calls:
    """Makes calls, and remembers for a while what types servers have. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known = KnownTypes()

    def perform(self, call: Call, server: Server, countdown: Countdown) -> Answer:
        """:raises Stopped: the call was asked to stop
        :raises TimeoutError: its time is over
        """
        try:
            with self._line(server, countdown) as line:
                method, request = self._prepare(line, server, call.payload)
                countdown.stage = f"calling {server.place.service}/{server.place.method}"
                return _judge(method, line.call(server.place, request, call))
        except ReflectionRefused as refusal:
            return refused(str(refusal), refusal.error_class)
        except BadTypes as error:
            return Answer(ok=False, error=printable(str(error), _EXCERPT), error_class="bad_reflection")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                self._known.forget(server)
            return _failed(call, error, countdown)

    def _prepare(self, line: "_Line", server: Server, payload: bytes) -> tuple[Method, bytes]:
        """The method and its request. What is known may be old: the server is asked before anything is refused."""
        if known := self._known.find(server):
            with suppress(ReflectionRefused):
                return _encoded(known, server.place, payload)
        types = fetch_types(server.place.service, line.reflect)
        self._known.keep(server, types)
        return _encoded(types, server.place, payload)

    @contextmanager
    def _line(self, server: Server, countdown: Countdown) -> Iterator["_Line"]:
        countdown.stage = f"asking {server.place.host} for its types"
        channel = self._channel(server)
        try:
            with interruptible(countdown.stop, channel.close):
                yield _Line(channel, countdown)
        except ValueError:  # the channel was closed just when something was to be sent over it
            countdown.go_on()
            raise
        finally:
            channel.close()

    def _channel(self, server: Server) -> grpc.Channel:
        place = server.place
        options: list[tuple[str, str | int]] = [
            ("grpc.default_authority", place.authority),
            ("grpc.primary_user_agent", f"onthedot/{__version__}"),
            ("grpc.max_receive_message_length", _MAX_MESSAGE),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if not server.secure:
            return grpc.insecure_channel(_uri(server), options)
        options.append(("grpc.ssl_target_name_override", place.host.removesuffix(".")))
        return grpc.secure_channel(_uri(server), grpc.ssl_channel_credentials(self._roots), options)

    @cached_property
    def _roots(self) -> bytes | None:
        """What the system trusts (or `SSL_CERT_FILE`), as for HTTP; gRPC's own list where it has none."""
        trusted = ssl.get_default_verify_paths().cafile
        return Path(trusted).read_bytes() if trusted else None


class _Line:
    """A connection for one call, with its questions."""

    def __init__(self, channel: grpc.Channel, countdown: Countdown) -> None:
        self._channel, self._countdown = channel, countdown

    def reflect(self, questions: Sequence[ServerReflectionRequest]) -> Sequence[ServerReflectionResponse]:
        """An answer to each."""
        for path in _REFLECTION:
            try:
                return self._ask(path, questions)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
        raise ReflectionRefused("the server has no reflection, which says what its types are", "no_reflection")

    def _ask(self, path: str, questions: Sequence[ServerReflectionRequest]) -> Sequence[ServerReflectionResponse]:
        stream = self._channel.stream_stream(
            path,
            request_serializer=ServerReflectionRequest.SerializeToString,
            response_deserializer=ServerReflectionResponse.FromString,
        )
        answers = stream(iter(questions), timeout=self._countdown.left())
        # No more than was asked for, whatever else it has to say.
        heard: list[ServerReflectionResponse] = []
        size = 0
        try:
            for answer, _ in zip(answers, questions, strict=False):
                heard.append(answer)
                size += answer.ByteSize()
                if size > MAX_BYTES:
                    raise BadTypes("the server's types are too many")
        finally:
            answers.cancel()
        if len(heard) < len(questions):
            raise BadTypes("the server's reflection leaves questions open")
        return heard

    def call(self, place: GrpcDestination, request: bytes, call: Call) -> bytes:
        """The reply, both as bytes: whoever knows the types makes sense of them."""
        unary: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        unary = self._channel.unary_unary(f"/{place.service}/{place.method}")
        return unary(request, timeout=self._countdown.left(), metadata=_metadata(call))


def _metadata(call: Call) -> tuple[tuple[str, str], ...]:
    known = dict(about(call))
    ours = {f"x-onthedot-{name.replace('_', '-')}": known[name] for name in ("job", "run", "attempt", "fire_time")}
    return ("idempotency-key", known["idempotency_key"]), *ours.items()


def _uri(server: Server) -> str:
    """The addresses themselves, so that nobody resolves the name again."""
    port = server.place.port
    if server.addresses[0].version == 4:
        return "ipv4:" + ",".join(f"{address}:{port}" for address in server.addresses)
    return "ipv6:" + ",".join(f"[{address}]:{port}" for address in server.addresses)


def _encoded(types: Types, place: GrpcDestination, payload: bytes) -> tuple[Method, bytes]:
    method = types.method(place.service, place.method)
    return method, method.encode(payload)


def _judge(method: Method, reply: bytes) -> Answer:
    try:
        text = method.decode(reply)
    except BadTypes as error:
        return Answer(ok=False, error=printable(str(error), _EXCERPT), error_class="bad_reply")
    return Answer(ok=True, result=None if text is None else result_text(text.encode()))


def _failed(call: Call, error: grpc.RpcError, countdown: Countdown) -> Answer:
    """What a status means. One that came since we had to end, or were out of time, says no more than that."""
    countdown.go_on()
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        with suppress(TimeoutError):
            countdown.left()
            return _answered(error, code, countdown)
        return timed_out(call, countdown.stage)
    return _answered(error, code, countdown)


def _answered(error: grpc.RpcError, code: grpc.StatusCode, countdown: Countdown) -> Answer:
    details = printable(error.details() or "", _EXCERPT)
    return Answer(
        ok=False,
        error=f"{code.name} while {countdown.stage}: {details}" if details else f"{code.name} while {countdown.stage}",
        error_class=f"grpc_{code.name}",
        retryable=code not in _FINAL,
    )
