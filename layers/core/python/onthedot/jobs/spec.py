"""The fields of a job, each said once: `FIELDS`.

A line of this table makes the field known everywhere: requests and changes refuse wrong values, a workflow's jobs may
have it, it is stored, answers show it, the log of changes names it, `onthedot schedule` and `onthedot change` have an
option, and OpenAPI and the reference describe it. One test tries every line: `tests/unit/jobs/test_every_field.py`.

To add a field whose form is in `forms.py`: add its line here, and an attribute of the same name to `Definition` or to
`Record`. What then remains is its own behaviour. A field that needs rules beyond its form has them in `shapes.TYPES`.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, Flag, auto
from functools import cache
from typing import Any, Final, NamedTuple

from onthedot.core.choices import (
    LONGEST_PULL,
    MAX_JOBS,
    MOST_GATES,
    OnParentFailure,
    Priority,
    Requirements,
    RetryPolicy,
)
from onthedot.jobs.forms import (
    Choice,
    Duration,
    Form,
    Instant,
    Json,
    Names,
    Number,
    Parts,
    Seconds,
    Switch,
    Tags,
    Text,
    Whole,
)
from onthedot.schedules.choices import (
    MAX_AHEAD_MS,
    MAX_JITTER_SECONDS,
    DstPolicy,
    Gap,
    Misfire,
    MisfirePolicy,
    Overlap,
    OverlapPolicy,
)

MAX_DEPENDENCIES: Final = 100
MAX_DESCRIPTION: Final = 1_000
MAX_REQUIRED: Final = 20
MAX_TAGS: Final = 20
_DAY: Final = 86_400
_LONGEST_AHEAD: Final = MAX_AHEAD_MS // 1000


class Has(Flag):
    """The kinds of jobs that have a field."""

    ONE_OFF = auto()
    RECURRING = auto()
    EVENT = auto()
    WORKFLOW = auto()
    """A workflow as a whole, one-off or recurring."""
    NODE = auto()
    """A job of a workflow."""
    JOB = ONE_OFF | RECURRING | EVENT
    WORK = JOB | NODE
    """All that run something themselves."""
    ALL = WORK | WORKFLOW


class Stored(Enum):
    """Where the value of a field is stored."""

    DEFINITION = auto()
    """As the attribute of `Definition` with the field's name."""
    RECORD = auto()
    """As the attribute of `Record` with the field's name."""
    RECURRENCE = auto()
    """In the schedule of a recurring job: `schedules/fields.py`."""
    APART = auto()
    """By code that knows this field, or not at all."""


class Change(Enum):
    """What a change of a job may do with a field."""

    NONE = auto()
    REPLACE = auto()
    MERGE = auto()
    """Parts that the change leaves out keep their values."""
    CLEAR = auto()
    """Replace it, or remove it by null: the field has its default then."""


class Field(NamedTuple):
    """One field of a job."""

    name: str
    form: Form
    meaning: str
    """One sentence, for OpenAPI, the reference and the command line."""
    has: Has = Has.WORK
    stored: Stored = Stored.APART
    change: Change = Change.NONE
    letter: str = ""
    """Stands for the field in the log of changes. A letter that was used once keeps its meaning."""
    default: Any = None
    """The value in code of a new job that leaves the field out."""
    option: str | None = None
    """The option of the command line, where it is not the name of the field. Empty: there is none."""
    help: str = ""
    """The meaning on the command line, where values are written otherwise there."""
    section: str = ""
    """Its section in the help text."""
    examples: tuple[Any, Any, Any] | None = None
    """Two values that the API takes, and one that it refuses. Without them, tests take the bounds of the form."""

    @property
    def null(self) -> bool:
        return self.change is Change.CLEAR

    def of_new(self, given: Mapping[str, Any]) -> Any:
        return self.changed(given[self.name], self.default) if self.name in given else self.default

    def changed(self, value: Any, present: Any) -> Any:
        if self.change is Change.MERGE:
            return replace(present, **value)
        return self.default if value is None else self.form.stored(value)


_DST: Final = Parts(
    DstPolicy,
    "Dst",
    "The policy when clocks change: for fire times that they skip (`gap`) and that they show twice (`overlap`).",
    Field("gap", Choice(Gap), "for times that clocks jump over", option="--dst-gap"),
    Field("overlap", Choice(Overlap), "for times that clocks show twice", option="--dst-overlap"),
)
_MISFIRE: Final = Parts(
    Misfire,
    "Misfire",
    "The policy for fire times that were missed by more than `grace_seconds`.",
    Field(
        "policy",
        Choice(MisfirePolicy),
        "which missed fire times run",
        option="--misfire POLICY",
        help="For missed fire times",
    ),
    Field(
        "grace_seconds",
        Seconds(0, 30 * _DAY),
        "a fire time that is found later than this is missed",
        option="--misfire-grace",
        help="Fire times found later than this count as missed",
    ),
)
_RETRY: Final = Parts(
    RetryPolicy,
    "Retry",
    """Retries after a failed attempt.

    The wait after failure number n is `backoff_seconds * factor**(n-1)` seconds, at most `max_backoff_seconds`. With
    `jitter` it is a random part of that time.
    """,
    Field("max_retries", Whole(0, 100), "retries after failed attempts"),
    Field("backoff_seconds", Duration(0, _DAY), "wait before the first retry", option="--backoff"),
    Field("factor", Number(1, 10), "each later wait is this many times longer", option="--backoff-factor"),
    Field("max_backoff_seconds", Duration(0, _DAY), "the longest wait", option="--max-backoff"),
    Field(
        "jitter",
        Switch(),
        "wait only a random part of each wait",
        option="--backoff-jitter",
        help="Randomize each wait between zero and its full length",
    ),
)
_REQUIREMENTS: Final = Parts(
    Requirements,
    "Requirements",
    "The requirements of the job. It goes to the smallest pool that meets them.",
    Field(
        "capabilities",
        Names(MAX_REQUIRED),
        "what the worker must offer",
        option="--capability NAME",
        help="A capability that the worker must offer; may be repeated",
        examples=(["shell"], ["grpc", "http"], ["a,b"]),
    ),
    Field("cpu", Number(0), "CPUs for each run"),
    Field("memory_mb", Whole(0), "memory for each run, in MiB"),
    Field("storage_mb", Whole(0), "disk for each run, in MiB"),
)


def _section(title: str, *fields: Field) -> tuple[Field, ...]:
    return tuple(field._replace(section=title) for field in fields)


FIELDS: Final = (
    *_section(
        "When",
        Field(
            "at",
            Instant(),
            "RFC 3339 with offset, epoch seconds, or a local time without offset in `timezone`",
            has=Has.ONE_OFF | Has.WORKFLOW | Has.NODE,
            change=Change.REPLACE,
            letter="a",
            help='Once, such as "tomorrow 9:00", "fri 17:30" or RFC 3339',
            examples=("2026-03-02T00:00:00Z", 1_772_500_000, "tomorrow"),
        ),
        Field(
            "delay",
            Duration(0, _LONGEST_AHEAD),
            "seconds from now",
            has=Has.ONE_OFF | Has.WORKFLOW | Has.NODE,
            change=Change.REPLACE,
            letter="y",
            option="--in",
            help="Once, after this long, such as 10m or 1h30m",
        ),
        Field(
            "cron",
            Text(255),
            "5 fields, an alias such as @daily, or EventBridge's cron(0/15 9-17 ? * MON-FRI *)",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.REPLACE,
            letter="c",
            option="--cron EXPRESSION",
            help="Recurring: five fields, @daily, or cron(…)",
            examples=("30 2 * * *", "@daily", "61 * * * *"),
        ),
        Field(
            "every",
            Seconds(1, _LONGEST_AHEAD),
            "seconds from one fire time to the next, or a rate such as rate(5 minutes)",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.REPLACE,
            letter="v",
            option="--every TIME",
            help="Recurring, at this interval, such as 15m or rate(5 minutes)",
        ),
        Field(
            "on_event",
            Json(dict[str, Any]),
            "an EventBridge pattern: the job runs for each event that matches",
            has=Has.EVENT,
            change=Change.REPLACE,
            letter="e",
            help="For each event that matches this pattern",
            examples=({"source": ["shop"]}, {"detail": {"total": [{"numeric": [">", 5]}]}}, {"source": "shop"}),
        ),
        Field(
            "timezone",
            Text(255),
            "IANA name, with cron (UTC) or a local at",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.REPLACE,
            letter="z",
            option="--tz NAME",
            help="Time zone of --cron (UTC) and --at (this machine's)",
            examples=("Europe/Berlin", "Asia/Tokyo", "Mars/New"),
        ),
        Field(
            "dst",
            _DST,
            "with cron or a local at: fire times when clocks change",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.MERGE,
            letter="D",
            default=DstPolicy(),
        ),
        Field(
            "start_at",
            Instant(),
            "no fire time before it; `every` counts from it",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.CLEAR,
            letter="s",
            help="No fire times before this; --every counts from it",
        ),
        Field(
            "end_at",
            Instant(),
            "no fire time after it",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.CLEAR,
            letter="E",
            help="No fire times after this",
        ),
        Field(
            "max_runs",
            Whole(1, 2**53),
            "the job ends after this many runs",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.CLEAR,
            letter="m",
        ),
        Field(
            "jitter_seconds",
            Seconds(0, MAX_JITTER_SECONDS),
            "each run starts up to this much later, at random",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.REPLACE,
            letter="j",
            default=0,
            option="--jitter",
        ),
    ),
    *_section(
        "If a run cannot start in time",
        Field(
            "misfire",
            _MISFIRE,
            "policy for fire times that were missed",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.MERGE,
            letter="i",
            default=Misfire(),
        ),
        Field(
            "overlap",
            Choice(OverlapPolicy),
            "policy when the previous run has not ended",
            has=Has.RECURRING | Has.WORKFLOW,
            stored=Stored.RECURRENCE,
            change=Change.REPLACE,
            letter="l",
            default=OverlapPolicy.ALLOW,
        ),
        Field(
            "start_within_seconds",
            Seconds(1, 31 * _DAY),
            "skip a run that has not started this long after its fire time",
            stored=Stored.RECORD,
            change=Change.CLEAR,
            letter="w",
            option="--start-within",
        ),
    ),
    *_section(
        "What",
        Field(
            "target",
            Json(),
            "what to call",
            change=Change.REPLACE,
            letter="T",
            help="Any other target",
            examples=(
                {"type": "http", "url": "https://example.com/hook", "method": "PUT", "headers": {"X-Team": "a"}},
                {"type": "python", "handler": "report"},
                {"type": "smoke"},
            ),
        ),
        Field(
            "callback_url",
            Text(2_048),
            "short for an http target",
            change=Change.REPLACE,
            letter="u",
            option="",
            examples=("https://example.com/a", "https://example.com/b", "example.com"),
        ),
        Field(
            "payload",
            Json(),
            "any JSON up to 1 MiB",
            change=Change.REPLACE,
            letter="p",
            option="--payload JSON|@FILE|-",
            help="JSON, a file with JSON, or - for stdin",
            examples=({"a": [True, None]}, [1], "x" * 1024 * 1024),
        ),
    ),
    *_section(
        "Labels",
        Field(
            "name",
            Text(255),
            "a name for people; it need not be unique",
            has=Has.ALL,
            stored=Stored.DEFINITION,
            change=Change.CLEAR,
            letter="n",
        ),
        Field(
            "description",
            Text(MAX_DESCRIPTION),
            "text for people; no attempt reads it",
            has=Has.ALL,
            stored=Stored.DEFINITION,
            change=Change.CLEAR,
            letter="d",
            help="A text for people; it has no effect on runs",
        ),
        Field(
            "tags",
            Tags(MAX_TAGS),
            "up to 20 strings by key",
            has=Has.ALL,
            stored=Stored.DEFINITION,
            change=Change.REPLACE,
            letter="t",
            default={},
            option="--tag KEY=VALUE",
            help="A tag; may be repeated",
            examples=({"team": "core", "free": ""}, {"a": "b"}, {"": "x"}),
        ),
    ),
    *_section(
        "How",
        Field(
            "priority",
            Choice(Priority),
            "which queue it waits in",
            has=Has.ALL,
            change=Change.REPLACE,
            letter="P",
            default=Priority.MEDIUM,
        ),
        Field(
            "gates",
            Names(MOST_GATES, in_order=False),
            "gates that each attempt passes: `stripe`, `customer:42`",
            stored=Stored.RECORD,
            change=Change.CLEAR,
            letter="g",
            default=(),
            option="--gate NAME",
            help="A gate to pass; may be repeated",
            examples=(["stripe"], ["customer:42", "stripe"], ["No gate"]),
        ),
        Field(
            "timeout_seconds",
            Seconds(1, LONGEST_PULL),
            "time limit for one attempt, up to what the pool allows",
            stored=Stored.DEFINITION,
            change=Change.REPLACE,
            letter="o",
            default=60,
            option="--timeout",
            help="Time limit for one attempt, up to what the pool allows",
        ),
    ),
    *_section(
        "Retries",
        Field(
            "retry",
            _RETRY,
            "retries after failed attempts",
            stored=Stored.DEFINITION,
            change=Change.MERGE,
            letter="r",
            default=RetryPolicy(),
        ),
    ),
    *_section(
        "Worker requirements",
        Field(
            "requirements",
            _REQUIREMENTS,
            "what the worker must have",
            stored=Stored.DEFINITION,
            change=Change.REPLACE,
            letter="q",
            default=Requirements(),
        ),
    ),
    *_section(
        "After other jobs",
        Field(
            "dependencies",
            Names(MAX_DEPENDENCIES),
            "jobs that must end before this one runs",
            has=Has.ONE_OFF | Has.RECURRING,
            option="--depends-on JOB_ID",
            help="Wait for this job; may be repeated",
        ),
        Field(
            "on_parent_failure",
            Choice(OnParentFailure),
            "policy when a job that this one waits for does not succeed",
            has=Has.ONE_OFF | Has.RECURRING | Has.NODE,
            default=OnParentFailure.FAIL,
            option="--on-parent-failure POLICY",
            help="If one of those jobs does not succeed",
        ),
        Field(
            "key",
            Text(64),
            "its name in the workflow: 1 to 64 letters, digits, `_`, `.` and `-`",
            has=Has.NODE,
            examples=("a", "Step-1.x_y", "a b"),
        ),
        Field(
            "depends_on",
            Names(MAX_JOBS),
            "keys of the jobs that must end before this one runs",
            has=Has.NODE,
        ),
    ),
    Field(
        "idempotency_key",
        Text(255, 1),
        "sending the same key and body again creates no second job",
        has=Has.JOB | Has.WORKFLOW,
        option="--idempotency-key KEY",
        help="Repeating the same key and options creates no second job",
        examples=("k", "order 7", "a\nb"),
    ),
)
BY_NAME: Final[Mapping[str, Field]] = {field.name: field for field in FIELDS}
CHANGEABLE: Final = tuple(field for field in FIELDS if field.change is not Change.NONE)
LETTERS: Final[Mapping[str, str]] = {field.name: field.letter for field in CHANGEABLE}


def fields_of(has: Has) -> tuple[Field, ...]:
    return tuple(field for field in FIELDS if field.has & has)


@cache
def stored_in(stored: Stored) -> tuple[Field, ...]:
    return tuple(field for field in FIELDS if field.stored is stored)


def of_new(given: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    return {field.name: field.of_new(given) for field in stored_in(stored)}


def changed(given: Mapping[str, Any], stored: Stored, present: object) -> dict[str, Any]:
    """Return the attributes that a change gives to the current value of that place."""
    return {
        field.name: field.changed(given[field.name], getattr(present, field.name))
        for field in stored_in(stored)
        if field.name in given
    }
