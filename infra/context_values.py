"""The types of context values: text from `-c key=value`, or typed values from `cdk.json`. pydantic checks them."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, ValidationError


class BadContext(ValueError):
    """A context value is missing, unknown or out of range."""

    def __init__(self, key: str, value: Any, why: str) -> None:
        given = key if value is None else f"{key}={value!r}"
        super().__init__(f"CDK context {given}: {why}")
        self.key = key


class ContextModel(BaseModel):
    """A context value with fields, or all of them together. It refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Model = TypeVar("Model", bound=ContextModel)


def checked(model: type[Model], context: Mapping[str, Any]) -> Model:
    try:
        return model.model_validate(dict(context))
    except ValidationError as refused:
        # An unknown field comes first: it explains why the field that it should have been is missing.
        error = min(refused.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key, *inside = error["loc"]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inside).lstrip(".")
    why = re.sub(r"\b(frozenset|tuple)\b", "list", error["msg"].removeprefix("Value error, "), flags=re.IGNORECASE)
    raise BadContext(str(key), context.get(str(key)), f"{where}: {why}" if where else why)


def _digits(value: Any) -> Any:
    # bool is an int in Python, but `-c shards=true` is a mistake. pydantic would also take "1_000" and other digits.
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,12}", str(value), re.ASCII):
        raise ValueError("must be a whole number")
    return value


def _flag(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    """Read text as JSON, or as values between commas, so that simple lists need no quotes."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith(("[", "{")):
        return [part.strip() for part in value.split(",")]
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"is not valid JSON: {error}") from error


def parts(form: str) -> BeforeValidator:
    """Split text at its colons. Refuse a value that has not as many parts as the form, such as `READS:WRITES`."""
    expected = form.split(",", 1)[0].count(":") + 1

    def split(value: Any) -> Any:
        found = value.split(":") if isinstance(value, str) else value
        if not isinstance(found, list | tuple) or len(found) != expected:
            raise ValueError(f"must be {form}")
        return found

    return BeforeValidator(split)


Number = Annotated[int, BeforeValidator(_digits)]
Flag = Annotated[StrictBool, BeforeValidator(_flag)]
LISTED = BeforeValidator(_listed)
