"""The types of a server's methods, read from its reflection, and messages to and from JSON."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from onthedot.core.errors import OnthedotError
from onthedot.targets.answers import printable
from onthedot.targets.grpc.caller import Server

_NO_MESSAGE: Final = frozenset({b"", b"null"})
_NOT_FOUND: Final = 5
_MAX_FILES: Final = 1000
MAX_BYTES: Final = 16 * 1024 * 1024
"""The most bytes that the types of a server may have."""
_MAX_NAME: Final = 255
"""The most letters of a field's name. A reply of few bytes can repeat a field so often that long names would make its
JSON huge."""
_KNOWN_SECONDS: Final = 300
_MAX_KNOWN: Final = 64

Reflect = Callable[[Sequence[ServerReflectionRequest]], Sequence[ServerReflectionResponse]]
"""Sends questions to a server and returns one answer to each."""


class ReflectionRefused(OnthedotError):
    """The server's types do not allow this call. Another attempt does not help."""

    def __init__(self, message: str, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class BadTypes(OnthedotError):
    """The server sent types or a reply that cannot be read."""


class UnaryMethod:
    def __init__(self, descriptor: Any, pool: DescriptorPool) -> None:
        self._request: type[Message] = GetMessageClass(descriptor.input_type)
        self._reply: type[Message] = GetMessageClass(descriptor.output_type)
        self._pool = pool

    def encode(self, payload: bytes) -> bytes:
        """Raise ReflectionRefused when the payload is not JSON of the request's type."""
        text = b"{}" if payload.strip() in _NO_MESSAGE else payload
        name = self._request.DESCRIPTOR.full_name
        if text.lstrip()[:1] == b"[" and not name.startswith("google.protobuf."):
            # protobuf would read a list as an empty message.
            raise ReflectionRefused(f"the payload is not a {name}: it is a list", "bad_request")
        try:
            return json_format.Parse(text, self._request(), descriptor_pool=self._pool).SerializeToString()
        except (json_format.ParseError, ValueError, TypeError, RecursionError) as error:
            why = f"the payload is not a {name}: {printable(str(error), 300)}"
            raise ReflectionRefused(why, "bad_request") from None

    def decode(self, reply: bytes) -> str | None:
        """Return the reply as JSON, or None when JSON cannot express it: the call succeeded anyway.

        Raise BadTypes when the bytes are not a message of the reply's type.
        """
        try:
            message = self._reply.FromString(reply)
        except DecodeError:
            raise BadTypes(f"the reply is not a {self._reply.DESCRIPTOR.full_name}") from None
        try:
            return json_format.MessageToJson(message, indent=None, ensure_ascii=False, descriptor_pool=self._pool)
        except (json_format.Error, ValueError, TypeError, RecursionError):
            return None


class Types:
    def __init__(self, files: Mapping[str, FileDescriptorProto]) -> None:
        self._pool = DescriptorPool()
        left = dict(files)
        while left:
            ready = [name for name, file in left.items() if not left.keys() & set(file.dependency)]
            if not ready:
                raise BadTypes("the server's types depend on each other in a circle")
            for name in ready:
                self._add(left.pop(name))

    def method(self, service: str, name: str) -> UnaryMethod:
        """Raise ReflectionRefused when there is no such unary method."""
        try:
            method: Any = self._pool.FindServiceByName(service).methods_by_name[name]
        except KeyError:
            raise ReflectionRefused(f"the server has no method {service}/{name}", "unknown_method") from None
        if method.client_streaming or method.server_streaming:
            raise ReflectionRefused(f"{service}/{name} is streaming; only unary methods can be called", "streaming")
        return UnaryMethod(method, self._pool)

    def _add(self, file: FileDescriptorProto) -> None:
        if any(len(name) > _MAX_NAME for name in _names(file)):
            raise BadTypes("the server's types have names that are too long")
        try:
            self._pool.AddSerializedFile(file.SerializeToString())
        except (TypeError, ValueError) as error:
            raise BadTypes(f"the server's types do not fit together: {error}") from None


def _names(scope: FileDescriptorProto | DescriptorProto) -> Iterator[str]:
    """Yield the names in the scope that occur in JSON: of all fields and enum values."""
    within = scope.message_type if isinstance(scope, FileDescriptorProto) else scope.nested_type
    if isinstance(scope, DescriptorProto):
        yield from (name for field in scope.field for name in (field.name, field.json_name))
    yield from (value.name for kind in scope.enum_type for value in kind.value)
    for message in within:
        yield from _names(message)


def fetch_types(service: str, reflect: Reflect) -> Types:
    """Ask for the file of the service, and for those that it needs. Raise ReflectionRefused and BadTypes."""
    files: dict[str, FileDescriptorProto] = {}
    questions = [ServerReflectionRequest(file_containing_symbol=service)]
    while questions:
        for question, answer in zip(questions, reflect(questions), strict=True):
            for file in _files(question, answer):
                files[file.name] = file
        if sum(file.ByteSize() for file in files.values()) > MAX_BYTES:
            raise BadTypes("the server sends too many types")
        needed = {name for file in files.values() for name in file.dependency} - files.keys()
        if len(files) + len(needed) > _MAX_FILES:
            raise BadTypes("the server sends too many types")
        questions = [ServerReflectionRequest(file_by_filename=name) for name in sorted(needed)]
    return Types(files)


def _files(question: ServerReflectionRequest, answer: ServerReflectionResponse) -> Sequence[FileDescriptorProto]:
    asked_for = question.file_containing_symbol or question.file_by_filename
    if answer.HasField("error_response"):
        if question.file_containing_symbol and answer.error_response.error_code == _NOT_FOUND:
            raise ReflectionRefused(f"the server has no service {asked_for}", "unknown_method")
        raise BadTypes(f"the server does not describe {asked_for}: {answer.error_response.error_message}")
    try:
        files = [FileDescriptorProto.FromString(one) for one in answer.file_descriptor_response.file_descriptor_proto]
    except DecodeError:
        raise BadTypes(f"the server sends unreadable types for {asked_for}") from None
    if question.file_by_filename and asked_for not in {file.name for file in files}:
        raise BadTypes(f"the server does not describe {asked_for}")
    return files


class KnownTypes:
    """A small cache of servers' types that forgets after a short time. It is safe to use from several threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool, str], tuple[float, Types]] = {}

    def find(self, server: Server) -> Types | None:
        until, types = self._known.get(_key(server), (0.0, None))
        return types if time.monotonic() < until else None

    def keep(self, server: Server, types: Types) -> None:
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[_key(server)] = time.monotonic() + _KNOWN_SECONDS, types

    def forget(self, server: Server) -> None:
        self._known.pop(_key(server), None)


def _key(server: Server) -> tuple[str, bool, str]:
    return server.destination.authority, server.secure, server.destination.service
