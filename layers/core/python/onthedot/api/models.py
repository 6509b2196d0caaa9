"""The fields of a request as pydantic models: what is checked here is what `/openapi.json` promises."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from onthedot.api import http_fields, times

MAX_TEXT: Final = 255
MAX_TAGS: Final = 20
MAX_PUSH_TIMEOUT: Final = 840
"""A Lambda worker lives 15 minutes; an attempt must end, and be recorded, within it."""


def _fits_a_pool(seconds: int) -> int:
    if seconds > MAX_PUSH_TIMEOUT:
        raise ValueError(f"is above {MAX_PUSH_TIMEOUT}, and no pull pool fits; give {MAX_PUSH_TIMEOUT} or less")
    return seconds


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed; use letters, digits and punctuation")
    return text


Text = Annotated[str, Field(max_length=MAX_TEXT)]
Key = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
IdempotencyKey = Annotated[Key, AfterValidator(_printable)]
Url = Annotated[str, Field(max_length=http_fields.MAX_URL), AfterValidator(http_fields.check_url)]
Instant = Annotated[
    int,
    BeforeValidator(times.parse_instant),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
TimeoutSeconds = Annotated[
    int, Field(ge=1, json_schema_extra={"maximum": MAX_PUSH_TIMEOUT}), AfterValidator(_fits_a_pool)
]
HeaderName = Annotated[str, AfterValidator(http_fields.check_header_name)]
HeaderValue = Annotated[str, AfterValidator(http_fields.check_header_value)]
Headers = Annotated[
    dict[HeaderName, HeaderValue],
    Field(max_length=http_fields.MAX_HEADERS),
    AfterValidator(http_fields.check_headers),
]


def _without_null(schema: dict[str, Any]) -> None:
    """None stands for a field that was left out; null itself is refused, so the description must not offer it."""
    for field in schema["properties"].values():
        if {"type": "null"} in (choices := field.get("anyOf", ())):
            del field["anyOf"], field["default"]
            kept = [choice for choice in choices if choice != {"type": "null"}]
            field.update(kept[0] if len(kept) == 1 else {"anyOf": kept})


class _Fields(BaseModel):
    """No coercion ("3" is not 3), no unknown field."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, json_schema_extra=_without_null)


class HttpTargetFields(_Fields):
    """An HTTP callback; the payload is its JSON body."""

    type: Literal["http"]
    url: Url
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD"] = "POST"
    headers: Headers = {}


class RetryFields(_Fields):
    """When to try again after a failure: `backoff_seconds * factor**n`, capped, with full jitter."""

    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 2
    factor: Annotated[float, Field(ge=1, le=10)] = 2
    max_backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 900
    jitter: bool = True


class JobFields(_Fields):
    """A one-off job. Neither `at` nor `delay`: now. Exactly one of `target` and `callback_url`."""

    name: Text | None = None
    tags: Annotated[dict[Key, Text], Field(max_length=MAX_TAGS)] = {}
    at: Annotated[Instant | None, Field(description="RFC 3339 with offset, or epoch seconds")] = None
    delay: Annotated[float | None, Field(ge=0, le=times.MAX_AHEAD_MS // 1000, description="seconds from now")] = None
    target: HttpTargetFields | None = None
    callback_url: Annotated[Url | None, Field(description="short for an http target")] = None
    payload: Annotated[Any, Field(description="any JSON up to 1 MiB")] = None
    priority: Literal["HIGH", "MEDIUM", "LOW"] = "MEDIUM"
    retry: RetryFields = RetryFields()
    timeout_seconds: TimeoutSeconds = 60
    idempotency_key: IdempotencyKey | None = None
