"""What the fields of all requests are made of: no coercion, no unknown field, and types that say what is wrong."""

import re
from collections.abc import Set
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from onthedot.api.core import times
from onthedot.domain.schedules.time_window import milliseconds_hint
from onthedot.domain.schedules.zones import LAST_INSTANT

MAX_TEXT: Final = 255
_WHOLE: Final = re.compile(r"\d{1,9}", re.ASCII)


def printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed; use letters, digits and punctuation")
    return text


def _in_the_calendar(instant: int) -> int:
    """Beyond it there is nothing to compute with and no way to write it down."""
    if instant < 0:
        raise ValueError("is before 1970; give a later time")
    if instant >= LAST_INSTANT:
        raise ValueError(f"is after the year 9998; give an earlier time{milliseconds_hint(instant)}")
    return instant


def _whole(text: Any) -> Any:
    """A number in a query is text."""
    if not isinstance(text, str) or not _WHOLE.fullmatch(text):
        raise ValueError("is not a whole number; give digits only")
    return int(text)


Text = Annotated[str, Field(max_length=MAX_TEXT)]
Key = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Instant = Annotated[
    int,
    BeforeValidator(times.parse_instant),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
CalendarInstant = Annotated[Instant, AfterValidator(_in_the_calendar)]
Digits = Annotated[int, BeforeValidator(_whole)]


def offer_null_for(schema: dict[str, Any], nullable: Set[str]) -> None:
    """None stands for a field that was left out; where null is refused, the description must not offer it."""
    for name, field in schema["properties"].items():
        if {"type": "null"} in (choices := field.get("anyOf", ())):
            del field["default"]
            if name not in nullable:
                del field["anyOf"]
                kept = [choice for choice in choices if choice != {"type": "null"}]
                field.update(kept[0] if len(kept) == 1 else {"anyOf": kept})


def _without_null(schema: dict[str, Any]) -> None:
    offer_null_for(schema, frozenset())


class Fields(BaseModel):
    """No coercion ("3" is not 3), no unknown field."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, json_schema_extra=_without_null)
