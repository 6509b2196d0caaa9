"""The shapes of requests and answers about jobs, for pydantic and OpenAPI. They are made from `FIELDS`.

A shape is a TypedDict: what a client left out is not in it, and its values are those that code works with.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, NotRequired, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from onthedot.api.commands import written
from onthedot.api.fields import CLOSED, At, CalendarInstant, JobId, Key, Text, printable, spelled
from onthedot.api.times import milliseconds
from onthedot.core.choices import MAX_JOBS
from onthedot.events.fields import Pattern
from onthedot.gates.fields import GateName
from onthedot.jobs import forms, spec
from onthedot.jobs.spec import BY_NAME, CHANGEABLE, FIELDS, Change, Has, fields_of
from onthedot.schedules.cron import rate_seconds
from onthedot.schedules.spread import EXAMPLE_ID, plain_expression
from onthedot.schedules.zones import zone
from onthedot.targets.fields import Capability, RequirementsView, TargetFields, TargetView, Url
from onthedot.targets.types import HttpTarget

MAX_BATCH: Final = 500


def _expression(text: str) -> str:
    plain_expression(text, EXAMPLE_ID)
    return text


def _seconds(value: Any) -> Any:
    return rate_seconds(value) if isinstance(value, str) else value


def _every_schema() -> dict[str, Any]:
    form = cast(forms.Seconds, BY_NAME["every"].form)
    number = {"type": "integer", "minimum": form.least, "maximum": form.most}
    return {"anyOf": [number, {"type": "string", "pattern": r"^rate\([1-9][0-9]* (second|minute|hour|day)s?\)$"}]}


def _of_form(field: spec.Field) -> Any:  # noqa: C901, PLR0911 - one line for each form
    # A checked value is converted to that of code.
    match field.form:
        case forms.Text(least=least, most=most):
            return Annotated[str, Field(min_length=least or None, max_length=most)]
        case forms.Whole(least=least, most=most):
            return Annotated[int, Field(ge=least, le=most)]
        case forms.Number(least=least, most=most):
            return Annotated[float, Field(ge=least, le=most)]
        case forms.Switch():
            return bool
        case forms.Choice(words=words) as form:
            return Annotated[Literal[words], AfterValidator(form.read)]
        case forms.Names(most=most) as form:
            item = ITEMS.get(field.name, str)
            return Annotated[list[item], Field(max_length=most), AfterValidator(form.read)]  # type: ignore[valid-type]
        case forms.Tags(most=most):
            return Annotated[dict[Key, Text], Field(max_length=most)]
        case forms.Instant():
            return CalendarInstant
        case forms.Parts() as form:
            parts = _parts_fields(form)
            return parts if field.change is Change.MERGE else Annotated[parts, AfterValidator(form.read)]
    return Any


def _type(field: spec.Field) -> Any:
    return TYPES.get(field.name) or _of_form(field)


IdempotencyKey = Annotated[Key, AfterValidator(printable)]
ITEMS: Final[Mapping[str, Any]] = {"capabilities": Capability, "dependencies": JobId, "gates": GateName}
"""The types of the entries of lists that have rules beyond their form."""
TYPES: Final[Mapping[str, Any]] = {
    "at": At,
    "callback_url": Annotated[Url, AfterValidator(HttpTarget)],
    "cron": Annotated[str, AfterValidator(_expression), WithJsonSchema({"type": "string", "maxLength": 255})],
    "delay": Annotated[_of_form(BY_NAME["delay"]), AfterValidator(milliseconds)],
    "every": Annotated[_of_form(BY_NAME["every"]), BeforeValidator(_seconds), WithJsonSchema(_every_schema())],
    "idempotency_key": IdempotencyKey,
    "key": Annotated[str, spelled("[A-Za-z0-9_.-]{1,64}", "is not a key; give 1 to 64 of A-Z, a-z, 0-9, _, . and -")],
    "on_event": Pattern,
    "target": Annotated[TargetFields, AfterValidator(lambda fields: fields.target())],
    "timezone": Annotated[str, AfterValidator(lambda name: zone(name).name)],
}
"""The types of fields that have rules beyond their form."""
VIEWS: Final[Mapping[str, Any]] = {"requirements": RequirementsView, "target": TargetView}


def shape(name: str, about: str, types: Mapping[str, Any], *, closed: bool = True) -> Any:
    """Make a TypedDict. A closed one converts no types ("3" is not 3) and refuses fields that it does not name."""
    made = cast(Any, TypedDict)(name, dict(types))
    made.__doc__, made.__module__ = about, __name__
    if closed:
        made.__pydantic_config__ = CLOSED
    return made


@cache
def _parts_fields(form: forms.Parts) -> Any:
    return shape(f"{form.name}Fields", form.about, {part.name: NotRequired[_described(part)] for part in form.parts})


def _parts_view(form: forms.Parts) -> Any:
    types = {part.name: _about(part.form.shown, part.meaning) for part in form.parts}
    return shape(f"{form.name}View", form.about.partition("\n")[0], types, closed=False)


def _about(kind: Any, meaning: str, **more: Any) -> Any:
    return Annotated[kind, Field(description=meaning, json_schema_extra=more) if more else Field(description=meaning)]


_CLI_FORMS: Final[Mapping[type[forms.Form], str]] = {
    forms.Seconds: "seconds",
    forms.Duration: "seconds",
    forms.Json: "json",
    forms.Names: "repeated",
    forms.Tags: "pairs",
    forms.Switch: "switch",
    forms.Parts: "parts",
}


def _written(field: spec.Field) -> dict[str, Any]:
    is_whole = isinstance(field.form, forms.Parts) and field.change is Change.REPLACE
    return written((field.option or "").partition(" ")[0], _CLI_FORMS.get(type(field.form), ""), is_whole=is_whole)


def _described(field: spec.Field) -> Any:
    if field.default in (None, (), {}):
        return _about(_type(field), field.meaning, **_written(field))
    default = field.form.show(field.default)
    if Has.JOB in field.has:
        return _about(_type(field), field.meaning, default=default, **_written(field))
    # A schema must not have a default that would be refused together with the other fields of some jobs.
    return _about(
        _type(field), field.meaning if isinstance(default, dict) else f"{field.meaning} ({default})", **_written(field)
    )


_NEW: Final = {field.name: NotRequired[_described(field)] for field in FIELDS}


def new_fields(*names: str) -> dict[str, Any]:
    return {name: _NEW[name] for name in names}


def _new(has: Has) -> dict[str, Any]:
    return new_fields(*(field.name for field in fields_of(has)))


def _change(field: spec.Field) -> Any:
    kind = _type(field)
    return NotRequired[_about(kind | None if field.null else kind, field.meaning, **_written(field))]


_CLEARED: Final = [f"`{field.name}`" for field in CHANGEABLE if field.null]

JobFields: Final = shape(
    "JobFields",
    """A new job. Give at most one of `at`, `delay`, `cron`, `every` and `on_event`. Without any it runs now.

    Give either `target` or `callback_url`. With `cron` or `every` the job recurs, and the other fields of a schedule
    may be given. With `on_event` it runs for each event that matches, and its `payload` may pick values from the
    event: `{"name": "$.detail.object.key"}`. With `dependencies` it waits until those jobs have ended, and gets their
    results along with its payload.
    """,
    _new(Has.JOB),
)
BatchFields: Final = shape(
    "BatchFields",
    "Many new jobs. Each is accepted or refused on its own.",
    {"jobs": Annotated[list[JobFields], Field(min_length=1, max_length=MAX_BATCH)]},  # type: ignore[valid-type]
)
PatchFields: Final = shape(
    "PatchFields",
    f"""A change of a job. Fields that are left out keep their values.

    `retry`, `dst` and `misfire` may be given in part. `target`, `tags`, `requirements` and `on_event` replace the old
    value. `at` and `delay` are for jobs that run once, the fields of a schedule for recurring jobs, `on_event` for jobs
    that wait for events. null removes {", ".join(_CLEARED[:-1])} and {_CLEARED[-1]}.
    """,
    {field.name: _change(field) for field in CHANGEABLE},
)
NodeFields: Final = shape(
    "NodeFields",
    "A job of the workflow. With `at` or `delay` it waits for that time as well as for the jobs in `depends_on`.",
    {**_new(Has.NODE), "key": _described(BY_NAME["key"])},
)
_HEAD: Final = _new(Has.WORKFLOW)
WorkflowFields: Final = shape(
    "WorkflowFields",
    """A new workflow. It is accepted with all of its jobs or not at all.

    Give at most one of `at`, `delay`, `cron` and `every`. Without any it starts now. Each fire time of a recurring
    workflow makes new jobs.
    """,
    {**_HEAD, "jobs": Annotated[list[NodeFields], Field(min_length=1, max_length=MAX_JOBS)]},  # type: ignore[valid-type]
)
HeadFields: Final = shape(
    "HeadFields",
    "A new workflow whose entries of `jobs` are not checked here, because they are read one by one.",
    {**_HEAD, "jobs": list[Any]},
)


def shown(fields: Iterable[spec.Field], *, always: bool = True) -> dict[str, Any]:
    """If not `always`, a job to which a field does not apply lacks it."""
    return {field.name: _view(field) if always else NotRequired[_view(field)] for field in fields}


def _view(field: spec.Field) -> Any:
    if field.name in VIEWS:
        return _about(VIEWS[field.name], field.meaning)
    kind = _parts_view(field.form) if isinstance(field.form, forms.Parts) else field.form.shown
    return _about(kind | None if field.null and field.default is None else kind, field.meaning)
