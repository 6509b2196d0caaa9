"""The base of all request models, and the types of fields that several resources use."""

import re
from collections.abc import Set
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from onthedot.api import times
from onthedot.schedules.local_times import LocalTime
from onthedot.schedules.schedule import milliseconds_hint
from onthedot.schedules.zones import LAST_INSTANT

MAX_TEXT: Final = 255
MAX_PAGE: Final = 100
_WHOLE: Final = re.compile(r"\d+", re.ASCII)
_MOST_DIGITS: Final = 15
"""Digits of a number in a query that are read. A longer number is above every bound."""
ALL_WORKFLOWS: Final = "*"
"""In place of the id of a workflow: all of them."""
_SECONDS: Final = re.compile(r"-?\d{1,15}(\.\d{1,9})?", re.ASCII)
_LOST_PLUS: Final = re.compile(r"(.*\d:\d\d(?:\.\d+)?) (\d\d:\d\d)", re.ASCII)
"""A time whose offset lost its `+`, because a query spells a space so."""


def printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed; use letters, digits and punctuation")
    return text


def _in_the_calendar(instant: int) -> int:
    if instant < 0:
        raise ValueError("is before 1970; give a later time")
    if instant >= LAST_INSTANT:
        raise ValueError(f"is after the year 9998; give an earlier time{milliseconds_hint(instant)}")
    return instant


def _whole(text: Any) -> Any:
    """Query parameters are text. The bounds of the field refuse a long number."""
    if not isinstance(text, str) or not _WHOLE.fullmatch(text):
        raise ValueError("is not a whole number; give digits only")
    return int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _query_instant(text: Any) -> int:
    """In a query, epoch seconds are text too, and a plain `+` is a space."""
    is_number = isinstance(text, str) and _SECONDS.fullmatch(text)
    if isinstance(text, str) and (found := _LOST_PLUS.fullmatch(text)):
        text = f"{found[1]}+{found[2]}"
    return times.parse_instant(float(text) if is_number else text)


def spelled(pattern: str, advice: str) -> AfterValidator:
    """Refuse a text that is spelled otherwise."""
    expected = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if not expected.fullmatch(text):
            raise ValueError(advice)
        return text

    return AfterValidator(check)


_A_JOB: Final = "is not the id of a job; give one as the API answered it"
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Key = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
JobId = Annotated[str, Field(min_length=1, max_length=128), spelled("[A-Za-z0-9_.:-]+", _A_JOB)]
WorkflowId = Annotated[str, Field(min_length=1, max_length=128), spelled(r"\*|[A-Za-z0-9_.:-]+", _A_JOB)]
RunId = Annotated[str, spelled("[A-Za-z0-9_.:-]{1,128}", "is not an execution's id; give it as the API shows it")]
WorkerId = Annotated[
    str, spelled("[A-Za-z0-9_.:-]{1,80}", "is not a worker's id; give 1 to 80 letters, digits or any of _ . : -")
]
Instant = Annotated[
    int,
    BeforeValidator(times.parse_instant),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
At = Annotated[
    int | LocalTime,
    PlainValidator(times.parse_at),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
]
"""An instant, or a local time whose zone another field names."""
CalendarInstant = Annotated[Instant, AfterValidator(_in_the_calendar)]
QueryInstant = Annotated[
    int,
    BeforeValidator(_query_instant),
    AfterValidator(_in_the_calendar),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
"""An instant in a query."""
Digits = Annotated[int, BeforeValidator(_whole)]
PriorityName = Literal["HIGH", "MEDIUM", "LOW"]
PRIORITY_NAMES: Final[tuple[PriorityName, ...]] = get_args(PriorityName)


def describe_nulls(schema: dict[str, Any], nullable: Set[str]) -> None:
    # In the models, None marks a field that was left out, so pydantic's schema offers null for it.
    for name, field in schema["properties"].items():
        if {"type": "null"} in (choices := field.get("anyOf", ())):
            del field["default"]
            if name not in nullable:
                del field["anyOf"]
                others = [choice for choice in choices if choice != {"type": "null"}]
                field.update(others[0] if len(others) == 1 else {"anyOf": others})


def _without_null(schema: dict[str, Any]) -> None:
    describe_nulls(schema, frozenset())


CLOSED: Final = ConfigDict(strict=True, extra="forbid")
"""The settings of all requests: convert no types ("3" is not 3), and refuse unknown fields."""


class Fields(BaseModel):
    """The base of request models."""

    model_config = ConfigDict(**CLOSED, frozen=True, json_schema_extra=_without_null)


class PageQuery(Fields):
    """The query of a call that answers page by page."""

    limit: Annotated[Digits, Field(ge=1, le=MAX_PAGE)] = 20
    cursor: Annotated[str | None, Field(description="`next_cursor` of the previous page")] = None
