"""The answer to why a job has not run, as typed values."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from onthedot.client.answers import Status, read_answer, read_status, read_time


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason: `code` for programs, `message` for people."""

    code: str
    message: str


def _reasons(documents: list[Any]) -> list[Reason]:
    return [read_answer(Reason, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment in the story of a run."""

    time: datetime = field(metadata={"read": read_time})
    message: str


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """An action and its effect if it were done now: `action` for programs, `message` for people."""

    action: str
    message: str


def _moments(documents: list[Any]) -> list[Moment]:
    return [read_answer(Moment, one) for one in documents]


def _what_if(documents: list[Any]) -> list[WhatIf]:
    return [read_answer(WhatIf, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The reasons why a job has not run, the story of its latest run, and what actions would do."""

    job_id: str
    status: Status | str = field(metadata={"read": read_status})
    name: str | None = None
    reasons: list[Reason] = field(default_factory=list, metadata={"read": _reasons})
    timeline: list[Moment] = field(default_factory=list, metadata={"read": _moments})
    what_if: list[WhatIf] = field(default_factory=list, metadata={"read": _what_if})
