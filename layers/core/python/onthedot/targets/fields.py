"""Requests about targets."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from onthedot.api.fields import Fields, printable
from onthedot.api.reading import canonical
from onthedot.targets import rules
from onthedot.targets import rules as header_rules
from onthedot.targets import rules as http_rules
from onthedot.targets import types as targets
from onthedot.targets.rules import Method
from onthedot.targets.types import Target


def _checked(headers: dict[str, str]) -> dict[str, str]:
    header_rules.check_headers(headers)
    return headers


Url = Annotated[str, Field(json_schema_extra={"maxLength": http_rules.MAX_URL}), AfterValidator(http_rules.check_url)]
HeaderName = Annotated[str, AfterValidator(header_rules.check_header_name)]
HeaderValue = Annotated[str, AfterValidator(header_rules.check_header_value)]
Headers = Annotated[
    dict[HeaderName, HeaderValue],
    Field(json_schema_extra={"maxProperties": header_rules.MAX_HEADERS}),
    AfterValidator(_checked),
]


MAX_ARGUMENTS: Final = 100
MAX_ARGV_BYTES: Final = 32 * 1024
MAX_INPUT_BYTES: Final = 32 * 1024
MAX_FUNCTION: Final = 170
MAX_CAPABILITY: Final = 80
MAX_HANDLER: Final = MAX_CAPABILITY - len("python:")
"""A worker offers each handler as a capability, whose name has this prefix."""

_NAME: Final = r"[A-Za-z0-9_-]{1,140}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?"
_FUNCTION: Final = re.compile(rf"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{{12}}:function:)?{_NAME}", re.ASCII)
_SERVICE: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_ACTION: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


def refuse_null(value: Any) -> Any:
    """Refuse null for a field that may be left out, in a nested model, which `null_problems` does not check."""
    if value is None:
        raise ValueError("is null; leave it out")
    return value


def one_capability(text: str) -> str:
    """Return the capability. Raise ValueError when it has a comma, because commas separate capabilities in lists."""
    if "," in text or text != text.strip():
        raise ValueError("has a comma or outer spaces; give one capability as one entry")
    return printable(text)


def _function(name: str) -> str:
    if not _FUNCTION.fullmatch(name):
        raise ValueError("is neither a function's name nor its whole ARN, with a version or alias or without; give one")
    return name


def _service(name: str) -> str:
    if not _SERVICE.fullmatch(name):
        raise ValueError("is not a service's name; give it as boto3 does, such as sqs or stepfunctions")
    return name


def _action(name: str) -> str:
    if not _ACTION.fullmatch(name):
        raise ValueError("is not an action's name; give it as the API reference does, such as SendMessage")
    return name


def _input(fields: dict[str, Any]) -> dict[str, Any]:
    size = len(canonical(fields))
    if size > MAX_INPUT_BYTES:
        raise ValueError(f"is {size:,} bytes and may be {MAX_INPUT_BYTES:,}; leave it out and send it as the payload")
    return fields


def _argument(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a zero character, which no program can be given; remove it")
    return text


def _argv(arguments: list[str]) -> list[str]:
    size = len(canonical(arguments))
    if size > MAX_ARGV_BYTES:
        raise ValueError(f"is {size:,} bytes and may be {MAX_ARGV_BYTES:,}; send the rest as the payload")
    return arguments


Capability = Annotated[str, Field(min_length=1, max_length=MAX_CAPABILITY), AfterValidator(one_capability)]
GrpcAddress = Annotated[
    str, Field(json_schema_extra={"maxLength": rules.MAX_ADDRESS}), AfterValidator(rules.check_address)
]
GrpcMethod = Annotated[
    str, Field(json_schema_extra={"maxLength": rules.MAX_METHOD}), AfterValidator(rules.check_grpc_method)
]
Argument = Annotated[str, Field(min_length=1), AfterValidator(_argument)]


class HttpTargetFields(Fields):
    """An HTTP callback. The payload is its JSON body."""

    type: Literal["http"]
    url: Url
    method: Method = "POST"
    headers: Headers = Field(default_factory=dict)

    def target(self) -> Target:
        return targets.HttpTarget(self.url, self.method, self.headers)


class LambdaTargetFields(Fields):
    """A Lambda function that the stage allows, by its name or ARN. The payload is its event."""

    type: Literal["lambda"]
    function: Annotated[str, Field(max_length=MAX_FUNCTION), AfterValidator(_function)]

    def target(self) -> Target:
        return targets.LambdaTarget(self.function)


class AwsTargetFields(Fields):
    """One call of an AWS API that the stage allows. Without `input` the payload is the input of the call."""

    type: Literal["aws"]
    service: Annotated[str, AfterValidator(_service)]
    action: Annotated[str, AfterValidator(_action)]
    input: Annotated[dict[str, Any] | None, BeforeValidator(refuse_null), AfterValidator(_input)] = None

    def target(self) -> Target:
        return targets.AwsTarget(self.service, self.action, self.input)


class ShellTargetFields(Fields):
    """A program and its arguments, on workers that offer it. The payload is its standard input."""

    type: Literal["shell"]
    argv: Annotated[list[Argument], Field(min_length=1, max_length=MAX_ARGUMENTS), AfterValidator(_argv)]

    def target(self) -> Target:
        return targets.ShellTarget(tuple(self.argv))


class GrpcTargetFields(Fields):
    """A unary gRPC call. The payload is the request as protobuf's JSON.

    Without `tls` the worker uses TLS for public addresses only.
    """

    type: Literal["grpc"]
    address: GrpcAddress
    method: GrpcMethod
    tls: Annotated[bool | None, BeforeValidator(refuse_null)] = None

    def target(self) -> Target:
        return targets.GrpcTarget(self.address, self.method, self.tls)


class PythonTargetFields(Fields):
    """A handler that the worker's app marks with `@job`. The payload is its argument."""

    type: Literal["python"]
    handler: Annotated[str, Field(min_length=1, max_length=MAX_HANDLER), AfterValidator(one_capability)]

    def target(self) -> Target:
        return targets.PythonTarget(self.handler)


TargetFields = Annotated[
    HttpTargetFields | LambdaTargetFields | AwsTargetFields | ShellTargetFields | GrpcTargetFields | PythonTargetFields,
    Field(discriminator="type"),
]
