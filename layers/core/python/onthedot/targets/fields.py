"""Targets in requests and in answers. An answer has the fields of the stored type, with secrets masked."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, Union, cast, get_args, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import TypedDict

from onthedot.api.errors import echo
from onthedot.api.fields import Fields, printable
from onthedot.api.reading import canonical
from onthedot.core.choices import Requirements
from onthedot.core.errors import Problem
from onthedot.targets import rules
from onthedot.targets.types import TYPES, CanaryTarget, Target, from_json, to_json

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.

MAX_ARGUMENTS: Final = 100
MAX_ARGV_BYTES: Final = 32 * 1024
MAX_INPUT_BYTES: Final = 32 * 1024
MAX_FUNCTION: Final = 170
MAX_CAPABILITY: Final = 80
MAX_HANDLER: Final = MAX_CAPABILITY - len("python:")
"""A worker offers each handler as a capability, whose name has this prefix."""


def _spelled(pattern: str, advice: str) -> AfterValidator:
    """Refuse a text that does not match the pattern as a whole."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(advice)
        return text

    return AfterValidator(check)


def _bytes_at_most(limit: int, advice: str) -> AfterValidator:
    """Refuse a value whose JSON is longer than this."""

    def check(value: Any) -> Any:
        size = len(canonical(value))
        if size > limit:
            raise ValueError(f"is {size:,} bytes, but the limit is {limit:,}; {advice}")
        return value

    return AfterValidator(check)


def _refuse_null(value: Any) -> Any:
    """Refuse null for a field that may be left out, in a nested model, which `null_problems` does not check."""
    if value is None:
        raise ValueError("is null; leave it out")
    return value


def _one_capability(text: str) -> str:
    if "," in text or text != text.strip():
        raise ValueError("has a comma, or spaces around it; give each capability as its own entry")
    return printable(text)


def _argument(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a zero character, which cannot be passed to a program; remove it")
    return text


Url = Annotated[str, Field(json_schema_extra={"maxLength": rules.MAX_URL}), AfterValidator(rules.check_url)]
HeaderName = Annotated[str, AfterValidator(rules.check_header_name)]
HeaderValue = Annotated[str, AfterValidator(rules.check_header_value)]
Headers = Annotated[
    dict[HeaderName, HeaderValue],
    Field(json_schema_extra={"maxProperties": rules.MAX_HEADERS}),
    AfterValidator(rules.check_headers),
]
Function = Annotated[
    str,
    Field(max_length=MAX_FUNCTION),
    _spelled(
        r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?"
        r"[A-Za-z0-9_-]{1,140}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?",
        "is neither a function's name nor its full ARN, with or without a version or alias; give one of them",
    ),
]
Service = Annotated[
    str,
    _spelled(r"[a-z][a-z0-9-]{0,62}", "is not a service's name; give it as boto3 does, such as sqs or stepfunctions"),
]
Action = Annotated[
    str,
    _spelled(
        r"[A-Z][A-Za-z0-9]{0,127}",
        "is not an action's name; give it as the API reference does, such as SendMessage",
    ),
]
Input = Annotated[dict[str, Any], _bytes_at_most(MAX_INPUT_BYTES, "leave it out and send it as the payload")]
Argument = Annotated[str, Field(min_length=1), AfterValidator(_argument)]
Argv = Annotated[
    list[Argument],
    Field(min_length=1, max_length=MAX_ARGUMENTS),
    _bytes_at_most(MAX_ARGV_BYTES, "send the rest as the payload"),
]
GrpcAddress = Annotated[
    str, Field(json_schema_extra={"maxLength": rules.MAX_ADDRESS}), AfterValidator(rules.check_address)
]
GrpcMethod = Annotated[
    str, Field(json_schema_extra={"maxLength": rules.MAX_METHOD}), AfterValidator(rules.check_grpc_method)
]
Capability = Annotated[str, Field(min_length=1, max_length=MAX_CAPABILITY), AfterValidator(_one_capability)]
Handler = Annotated[str, Field(min_length=1, max_length=MAX_HANDLER), AfterValidator(_one_capability)]


class _TargetFields(Fields):
    """The fields are those of the stored type, by the same names."""

    def target(self) -> Target:
        return from_json(vars(self))


class HttpTargetFields(_TargetFields):
    """An HTTP callback. The payload is its JSON body."""

    type: Literal["http"]
    url: Url
    method: rules.Method = "POST"
    headers: Headers = Field(default_factory=dict)


class LambdaTargetFields(_TargetFields):
    """A Lambda function that the stage allows, by its name or ARN. The payload is its event."""

    type: Literal["lambda"]
    function: Function


class AwsTargetFields(_TargetFields):
    """One call of an AWS API that the stage allows. Without `input` the payload is the input of the call."""

    type: Literal["aws"]
    service: Service
    action: Action
    input: Annotated[Input | None, BeforeValidator(_refuse_null)] = None


class ShellTargetFields(_TargetFields):
    """A program and its arguments, on workers that offer it. The payload is its standard input."""

    type: Literal["shell"]
    argv: Argv


class GrpcTargetFields(_TargetFields):
    """A unary gRPC call. The payload is the request as protobuf's JSON.

    Without `tls` the worker uses TLS for public addresses only.
    """

    type: Literal["grpc"]
    address: GrpcAddress
    method: GrpcMethod
    tls: Annotated[bool | None, BeforeValidator(_refuse_null)] = None


class PythonTargetFields(_TargetFields):
    """A handler that the worker's app marks with `@job`. The payload is its argument."""

    type: Literal["python"]
    handler: Handler


TargetFields = Annotated[
    HttpTargetFields | LambdaTargetFields | AwsTargetFields | ShellTargetFields | GrpcTargetFields | PythonTargetFields,
    Field(discriminator="type"),
]


_REQUESTS: Final = {get_args(one.__annotations__["type"])[0]: one for one in get_args(get_args(TargetFields)[0])}


def _view_of(name: str, kind: type[Target]) -> Any:
    """Return the TypedDict of a target's answer. What may be None in the target is left out of the answer then."""
    types: dict[str, Any] = {"type": Literal[name]}
    request = _REQUESTS[name].model_fields if name in _REQUESTS else {}
    for field, hint in get_type_hints(kind).items():
        given = [one for one in get_args(hint) if one is not type(None)]
        shown = NotRequired[given[0]] if type(None) in get_args(hint) else hint
        meaning = request[field].description if field in request else None
        types[field] = Annotated[shown, Field(description=meaning)] if meaning else shown
    view = cast(Any, TypedDict)(f"{kind.__name__}View", types)
    view.__doc__, view.__module__ = kind.__doc__, __name__
    return view


if TYPE_CHECKING:
    TargetView = Mapping[str, Any]
else:
    TargetView = Union[tuple(_view_of(*one) for one in TYPES.items() if one[1] is not CanaryTarget)]  # noqa: UP007


class RequirementsView(TypedDict):
    """The requirements of a job to the worker that runs it."""

    capabilities: list[str]
    cpu: float
    memory_mb: int
    storage_mb: int


def requirements_view(requirements: Requirements) -> RequirementsView:
    return {
        "capabilities": list(requirements.capabilities),
        "cpu": requirements.cpu,
        "memory_mb": requirements.memory_mb,
        "storage_mb": requirements.storage_mb,
    }


MASK: Final = "***"
_SECRET_HEADERS: Final = ("auth", "cookie", "token", "secret", "key", "password", "credential", "signature")
_SECRET_INPUTS: Final = (
    *("password", "passwd", "secret", "token", "apikey", "accesskey", "privatekey"),
    *("authorization", "credential", "signature"),
)


def target_view(target: Target) -> TargetView:
    shown = to_json(target)
    if "headers" in shown:
        shown["headers"] = _masked(shown["headers"], _is_secret_header)
    if "input" in shown:
        shown["input"] = _masked(shown["input"], _is_secret_input)
    return shown


def mask_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each mask in a document.

    A client that reads a job and sends it back would replace the secrets by their masks.
    """
    target = document.get("target")
    if not isinstance(target, dict):
        return []
    found = [*_masks(target.get("headers"), "target.headers"), *_masks(target.get("input"), "target.input")]
    return [Problem(name, "is the mask of a secret; send the value itself") for name in found]


def _masked(value: Any, is_secret: Callable[[str], bool]) -> Any:
    if isinstance(value, Mapping):
        return {name: MASK if is_secret(name) else _masked(child, is_secret) for name, child in value.items()}
    return [_masked(child, is_secret) for child in value] if isinstance(value, list) else value


def _masks(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _masks(child, f"{path}.{echo(name)}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _masks(child, f"{path}.{index}")
    elif value == MASK:
        yield path


def _is_secret_header(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_HEADERS)


def _is_secret_input(name: str) -> bool:
    """Return whether a name in an input looks secret. Unlike headers, many inputs have a harmless `Key`."""
    plain = name.lower().replace("_", "").replace("-", "")
    return any(word in plain for word in _SECRET_INPUTS)
