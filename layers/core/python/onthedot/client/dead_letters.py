"""The calls and answers about dead letters, the executions that failed for good. It is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from onthedot.client.answers import Execution, read_answer, read_time
from onthedot.client.errors import InvalidRequest, Problem
from onthedot.client.options import DeadLetterOptions, in_json, refuse_unknown
from onthedot.client.requests import PAGE, ExecutionPage, Operation

_TIME: Final = {"read": read_time}
_FIELDS: Final = {"since": "from", "until": "to", "job": "job_id"}
"""The names of the API for options that have another name here."""
PATH: Final = "/v1/dead-letters"
_SAY_WHICH: Final = "say which dead letters run again: ids, or filters, or everything=True"


@dataclass(frozen=True, kw_only=True)
class NotRedriven:
    """An execution that is not run again, and why."""

    id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class RedriveRun:
    """An execution that a redrive would run again."""

    id: str = field(metadata={"key": "execution_id"})
    job_id: str
    name: str | None = None
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    error: str | None = None
    cause: str | None = None


def _not_redriven(documents: list[Any]) -> list[NotRedriven]:
    return [read_answer(NotRedriven, one) for one in documents]


def _redrive_runs(documents: list[Any]) -> list[RedriveRun]:
    return [read_answer(RedriveRun, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Redriven:
    """The outcome of a redrive: how many executions run again, which do not, and which may."""

    redriven: int
    refused: list[NotRedriven] = field(default_factory=list, metadata={"read": _not_redriven})
    undecided: list[NotRedriven] = field(default_factory=list, metadata={"read": _not_redriven})
    left: bool = False
    """Whether there are more dead letters: call again with `cursor`."""
    cursor: str | None = field(default=None, metadata={"key": "next_cursor"})
    """The cursor of the next call. An execution that has failed again meanwhile is not run once more."""
    matched: int = 0
    """Of a dry run: how many would run again."""
    runs: list[RedriveRun] = field(default_factory=list, metadata={"read": _redrive_runs})
    """Of a dry run: the first 20 that would run again."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """The executions that failed for good in the same way. `job_id`, `name` and `execution_id` are of the latest."""

    cause: str
    count: int
    latest: datetime | None = field(default=None, metadata=_TIME)
    oldest: datetime | None = field(default=None, metadata=_TIME)
    successes_since: int = 0
    """Executions of the same recurring and event jobs that succeeded after the latest."""
    job_id: str | None = None
    name: str | None = None
    jobs: int = 1
    """The number of jobs."""
    execution_id: str | None = None


def _causes(documents: list[Any]) -> list[Cause]:
    return [read_answer(Cause, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Causes:
    """The causes of dead letters, the most frequent first. `truncated`: there are more than were counted."""

    causes: list[Cause] = field(metadata={"read": _causes})
    truncated: bool = False


def dead_letters(cursor: str | None, options: DeadLetterOptions | None = None) -> Operation[ExecutionPage]:
    """Return the call that reads one page of the executions that failed for good."""
    query = _query(options) | {"limit": str(PAGE)} | ({} if cursor is None else {"cursor": cursor})
    return Operation("GET", PATH, _read_dead_letters, query=query)


def dead_letter_causes(limit: int, options: DeadLetterOptions | None = None) -> Operation[Causes]:
    """Return the call that counts the executions that failed for good by cause."""
    query = _query(options) | {"by": "cause", "limit": str(limit)}
    return Operation("GET", PATH, lambda found: read_answer(Causes, found), query=query)


def redrive(
    ids: Sequence[str] | None,
    options: DeadLetterOptions | None = None,
    *,
    everything: bool = False,
    dry_run: bool = False,
    cursor: str | None = None,
) -> Operation[Redriven]:
    """Return the call that runs dead letters again. It is not repeated, because its answer counts what it did.

    Raise InvalidRequest when nothing says which ones.
    """
    named = {} if ids is None else {"ids": list(ids)}
    chosen = named | _fields(options) | ({"all": True} if everything else {})
    if not chosen:
        raise InvalidRequest(f"ids: {_SAY_WHICH}", code="invalid_request", details=[Problem("ids", _SAY_WHICH)])
    more = ({"dry_run": True} if dry_run else {}) | ({} if cursor is None else {"cursor": cursor})
    read = lambda found: read_answer(Redriven, found)  # noqa: E731 - as short as the others
    return Operation("POST", f"{PATH}/redrive", read, body={**chosen, **more}, repeatable=dry_run)


def _fields(options: DeadLetterOptions | None) -> dict[str, Any]:
    """Return the filters as the API takes them. Raise TypeError and ValueError."""
    given: Mapping[str, Any] = options or {}
    refuse_unknown(given, DeadLetterOptions, "dead_letters")
    return {_FIELDS.get(name, name): value for name, value in in_json(given).items()}


def _query(options: DeadLetterOptions | None) -> dict[str, str]:
    return {name: str(value) for name, value in _fields(options).items()}


def _read_dead_letters(document: Any) -> ExecutionPage:
    found = [read_answer(Execution, one) for one in document["dead_letters"]]
    return ExecutionPage(found, document.get("next_cursor"))
