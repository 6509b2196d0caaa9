"""Make the types of the client's answers and options from the OpenAPI document.

A field that the API gets is a field of the client with the next `make generate`. The tables say what the document does
not: the client's own names, the fields that every answer has, and defaults other than None and empty.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from onthedot.api.openapi import describe
from onthedot.api.routes import ROUTES

Schema = Mapping[str, Any]
_TIMES: Final = re.compile(
    r".+_at|at|time|fire_time|next_fire_time|last_run|last_tick|deadline|until|latest|oldest|from|to|next_from|"
    r"complete_until"
)
"""The fields of answers that are times. The document does not say so: it has no format for them."""
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


@dataclass(frozen=True)
class Kind:
    """A type of the client, made from the fields of some types of the API."""

    views: str
    required: str = ""
    """The fields that every answer has, also one of an older API."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The client's name for a field of the API."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    """Types, with their defaults, that do not follow from the document."""
    without: str = ""
    base: str = "Value"
    doc: str = ""
    """The description, if it is not that of the first type of the API."""


_FLOAT: Final = "float | None = None"
_NUMBERS: Final = dict.fromkeys(("succeeded", "failed", "skipped", "cancelled", "retries", "lost"), 0)
_RANGE: Final = {"from": "start", "to": "end"}
ANSWERS: Final[Mapping[str, Kind]] = {
    "Outcome": Kind("OutcomeView", "execution_id status"),
    "Change": Kind("ChangeView", "at action", defaults={"version": 1}),
    "Job": Kind(
        "JobView",
        "id status",
        {"job_id": "id"},
        {"version": 1, "priority": "MEDIUM", "retry_count": 0, "jitter_seconds": 0},
        {"outcomes": "list[Status | str] = []", "on_event": "Mapping[str, Any] | None = None"},
        doc="A job. The answer to a new job has the fields up to `next_fire_time`, `Client.get` answers with all.",
    ),
    "Attempt": Kind("AttemptView", "number outcome", {"attempt": "number"}),
    "Progress": Kind("RunProgressView", "at"),
    "Execution": Kind(
        "ExecutionView SkippedView",
        "id job_id status",
        {"execution_id": "id"},
        {"lost_attempts": 0, "count": 1},
        doc="One occurrence of a job, or a range of `count` skipped fire times from `fire_time` to `until`.",
    ),
    "FireTime": Kind("FireTimeView", "time local"),
    "WorkflowJob": Kind("MemberView", "key"),
    "Workflow": Kind(
        "WorkflowView AcceptedWorkflowView",
        "id status",
        {"workflow_id": "id"},
        types={"schedule": "Mapping[str, Any] | None = None"},
        without="job_id version priority pool created_at",
    ),
    "Reason": Kind("ReasonView", "code message"),
    "Moment": Kind("MomentView", "time message"),
    "WhatIf": Kind("WhatIfView", "action message"),
    "Explanation": Kind("ExplanationView", "job_id status"),
    "Backfilled": Kind("BackfilledView", "created existing left"),
    "HeavyJob": Kind("HeavyJobView", "job_id runs"),
    "Minute": Kind("MinuteView DueView", "time runs"),
    "Forecast": Kind("ForecastView", "minutes"),
    "Worker": Kind(
        "WorkerView",
        "id pool status",
        {"worker_id": "id"},
        types={"status": "str", **dict.fromkeys(("resources", "used"), "dict[str, Any] = {}")},
    ),
    "Health": Kind("HealthView", "status", types={"status": "str"}),
    "ListedJob": Kind("ListedJobView", "id kind status", {"job_id": "id"}, {"priority": "MEDIUM"}),
    "NotDone": Kind("BulkFailureView", "id code message"),
    "BulkStep": Kind("BulkView", "matched", defaults={"done": 0, "failed": 0}),
    "Queue": Kind("QueueView", "pool", types={"oldest_age_seconds": _FLOAT}),
    "Lateness": Kind("LatenessView", types=dict.fromkeys(("p50_ms", "p99_ms", "max_ms"), _FLOAT)),
    "Outcomes": Kind(
        "CountersView StepView HourMinuteView", defaults=_NUMBERS, types={"lateness": "Lateness = Lateness()"}
    ),
    "Hour": Kind("HourView", names=_RANGE, base="Outcomes"),
    "Overview": Kind(
        "OverviewView",
        "time",
        types={"status": 'str = "unknown"', "tick_age_seconds": _FLOAT, "summary": "Mapping[str, Any] = {}"},
    ),
    "Statistics": Kind("StatisticsView", "start end step_seconds", _RANGE, types={"total": "Outcomes = Outcomes()"}),
    "Gate": Kind("GateView GateDetailsView", "name"),
    "NotRedriven": Kind("RefusedView", "id reason"),
    "RedriveRun": Kind("RedriveRunView", "id job_id", {"execution_id": "id"}),
    "Redriven": Kind(
        "RedrivenView",
        "redriven",
        {"next_cursor": "cursor"},
        {"matched": 0},
        doc="The outcome of a redrive.\n\n"
        "When `left` is true there are more: call again with `cursor`, so that an execution that has failed again is\n"
        "not run once more. `undecided` names executions that may run again. Of a dry run, `matched` says how many\n"
        "would run again, and `runs` has the first 20 of them.",
    ),
    "Cause": Kind("CauseView", "cause count", _RANGE, {"successes_since": 0, "jobs": 1}),
    "Causes": Kind("CausesView", "causes", _RANGE),
}
DEAD_LETTER_NAMES: Final = {"from": "since", "to": "until", "job_id": "job"}
OPTIONS: Final[Mapping[str, Kind]] = {
    "JobOptions": Kind(
        "JobFields NodeFields HttpTargetFields",
        without="callback_url payload type",
        doc="The options of a job. `docs/jobs.md` describes each field.",
    ),
    "ChangeOptions": Kind(
        "PatchFields HttpTargetFields PythonTargetFields",
        without="callback_url type",
        doc="The fields of a job that can be changed. None removes the field, where that is allowed.",
    ),
    "WorkflowOptions": Kind(
        "WorkflowFields",
        without="jobs",
        doc="The options of a workflow. `docs/workflows.md` describes each field.",
    ),
    "PreviewOptions": Kind("PreviewFields"),
    "JobFilter": Kind("JobFilterFields"),
    "DeadLetterOptions": Kind(
        "RedriveFields",
        names=DEAD_LETTER_NAMES,
        without="ids all dry_run cursor",
        doc="Filters of dead letters, which must match all of them. `job` is the id of a job, or its name.",
    ),
}
GIVEN_AS: Final = {"every": "int | timedelta | str", "delay": "float | timedelta", "retry": "int | Mapping[str, Any]"}
"""Options that a caller may give in another form than the API takes."""


@cache
def _schemas() -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = describe(ROUTES)["components"]["schemas"]
    return found


def _properties(kind: Kind) -> dict[str, Schema]:
    """Return the fields of all types of the API that it is made from. The first one that has a field says its type."""
    found: dict[str, Schema] = {}
    for view in kind.views.split():
        found = {**found, **_schemas()[view]["properties"], **found}
    return {name: schema for name, schema in found.items() if name not in kind.without.split()}


def _bare(schema: Schema) -> tuple[Schema, bool]:
    """Return the schema without null, and whether null is one of its values."""
    several: Sequence[Schema] = schema.get("anyOf", schema.get("oneOf", ()))
    others = [one for one in several if one.get("type") != "null"]
    if len(others) == len(several):
        return schema, False
    return (others[0] if len(others) == 1 else {"anyOf": others}), True


def _name(ref: str) -> str:
    return ref.rsplit("/", 1)[1]


def _mapping(schema: Schema) -> str:
    """Return the type of an object. One whose fields are all texts has texts as values."""
    if "$ref" in schema:
        values: Any = list(_schemas()[_name(schema["$ref"])]["properties"].values())
    else:
        values = [schema.get("additionalProperties")]
    is_text = all(isinstance(one, Mapping) and one.get("type") == "string" for one in values)
    return f"Mapping[str, {'str' if is_text else 'Any'}]"


# Answers


def answers() -> str:
    imports = [
        "from collections.abc import Mapping",
        "from datetime import datetime",
        "from typing import Any",
        "from onthedot.client.values import Status, Value",
    ]
    done: dict[str, str] = {}
    for name in ANSWERS:
        _define(name, done)
    head = [
        "# ruff: noqa: RUF012 - each value gets an object of its own",
        '"""The answers of the API as typed values."""',
    ]
    return "\n".join([*head, *imports, f"__all__ = {sorted(ANSWERS)}", *done.values()])


def _define(name: str, done: dict[str, str]) -> None:
    """Add the type, after those that it needs."""
    kind = ANSWERS[name]
    lines = list(_answer_fields(kind))
    for needed in dict.fromkeys(re.findall(r"\b[A-Z]\w+", f"{kind.base} {' '.join(lines)}")):
        if needed in ANSWERS and needed not in done and needed != name:
            _define(needed, done)
    names = {own: api for api, own in kind.names.items() if api in _properties(kind)}
    keys = [f"_keys = {names}"] if names else []
    done[name] = _indented(f"class {name}({kind.base}):", _doc(kind), *keys, *lines)


def _doc(kind: Kind) -> str:
    """Return the description, with the client's names."""
    text = kind.doc or _schemas()[kind.views.split()[0]]["description"]
    text = re.sub(r"`(\w+)`", lambda found: f"`{kind.names.get(found[1], found[1])}`", text)
    lines = re.sub(r"\bnull\b", "None", text).split("\n")
    return "\n    ".join([f'"""{lines[0]}', *lines[1:], ""] if len(lines) > 1 else [f'"""{lines[0]}']) + '"""'


def _indented(head: str, *lines: str) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _answer_fields(kind: Kind) -> Iterator[str]:
    inherited = _properties(ANSWERS[kind.base]) if kind.base in ANSWERS else {}
    required = kind.required.split()
    fields = {kind.names.get(name, name): (name, schema) for name, schema in _properties(kind).items()}
    for name in sorted(fields, key=lambda name: name not in required):
        if name not in inherited:
            yield f"{name}: {_answer_type(kind, name, *fields[name], is_required=name in required)}"


def _answer_type(kind: Kind, name: str, api_name: str, schema: Schema, *, is_required: bool) -> str:
    if name in kind.types:
        return kind.types[name]
    schema, may_be_null = _bare(schema)
    found, default = _answer_form(api_name, schema, may_be_null=may_be_null)
    if is_required:
        return found
    if name in kind.defaults:
        return f"{found} = {kind.defaults[name]!r}"
    return f"{found} | None = None" if default == "None" and found != "Any" else f"{found} = {default}"


def _answer_form(name: str, schema: Schema, *, may_be_null: bool) -> tuple[str, str]:
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_answer_form('', schema['items'], may_be_null=False)[0]}]", "[]"
    if "$ref" in schema and (own := _OWN.get(_name(schema["$ref"]))):
        return own, "None"
    if kind == "object" or "$ref" in schema or "anyOf" in schema or "oneOf" in schema:
        return _mapping(schema) if "anyOf" not in schema and "oneOf" not in schema else "Mapping[str, Any]", "{}"
    if kind == "string" and (schema.get("format") == "date-time" or _TIMES.fullmatch(name)):
        return "datetime", "None"
    if kind == "string" and name == "status":
        return "Status | str", "None"
    return _PLAIN.get(kind or "", "Any"), "False" if kind == "boolean" and not may_be_null else "None"


_OWN: Final = {view: name for name, kind in ANSWERS.items() for view in kind.views.split()}
"""The client's type for each type of the API."""


# Options


def options() -> str:
    given = {own: api for api, own in DEAD_LETTER_NAMES.items()}
    head = [
        '"""The options of calls, as a caller gives them. `requests` turns them into what the API accepts."""',
        "from collections.abc import Mapping, Sequence",
        "from datetime import datetime, timedelta",
        "from typing import Any, Final, TypedDict",
        "Time = datetime | str | int | float",
        '"""An aware datetime, a string that the API accepts, or epoch seconds."""',
        f"DEAD_LETTER_NAMES: Final = {given}",
        '"""The API names of options that are named differently here."""',
    ]
    return "\n".join([*head, *(_option_type(name, kind) for name, kind in OPTIONS.items())])


def _option_type(name: str, kind: Kind) -> str:
    lines = [f"{kind.names.get(one, one)}: {_option(one, schema)}" for one, schema in _properties(kind).items()]
    return _indented(f"class {name}(TypedDict, total=False):", _doc(kind), *lines)


def _option(name: str, schema: Schema) -> str:
    schema, may_be_null = _bare(schema)
    return (GIVEN_AS.get(name) or _option_form(schema)) + (" | None" if may_be_null else "")


def _option_form(schema: Schema) -> str:
    several: Sequence[Schema] = schema.get("anyOf", schema.get("oneOf", ()))
    if {one.get("type") for one in several} == {"string", "number"}:
        return "Time"
    if several:
        return "Mapping[str, Any]"
    if schema.get("type") == "array":
        return f"Sequence[{_option_form(schema['items'])}]"
    if "$ref" in schema or schema.get("type") == "object":
        return _mapping(schema)
    return _PLAIN.get(schema.get("type", ""), "Any")
