"""The cause of a dead letter as a short text that is the same for all runs that failed in the same way.

Ids, numbers and quoted values, which differ between two such runs, are replaced by `…`. The status of an HTTP reply,
the host that refused a connection and the number of a signal stay, because they make another cause.
"""

import re
from dataclasses import dataclass
from typing import Final

from onthedot.core.listing import ALWAYS, Window
from onthedot.core.records import Attempt, Record, Status

MOST_CHARACTERS: Final = 120
UNKNOWN: Final = "failed without a reason"
GONE: Final = "…"
"""It stands for every value that differs between runs."""

_PREFIXED: Final = {"http_": "HTTP ", "grpc_": "gRPC "}
"""Words for error classes whose rest says enough."""
_PHASE: Final = re.compile(r"failed while (?P<phase>.+?): (?P<why>.+)", re.DOTALL)
_CONNECTING: Final = re.compile(r"connecting to (\S+) port (\d+)")
_PLACE: Final = re.compile(r"(?:resolving|setting up TLS with) (\S+)")
_TIMED_OUT: Final = re.compile(r"timed out after \d+ ms while (.+)", re.DOTALL)
_DIED: Final = re.compile(r"process died: (signal|exit) (\d+)")
_SILENT: Final = re.compile(r"worker \S+ was lost in attempt \d+")
_ENDED: Final = re.compile(r"(exit|signal) (\d+)(?:: (.*))?", re.DOTALL)
_UNDELIVERABLE: Final = re.compile(r"undeliverable: sent \d+ times, (.+)", re.DOTALL)
_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9.]*")
"""The name of an exception, such as `ValueError`. Classes of other failures are words for programs."""
_VALUES: Final = re.compile(
    r"""
      "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*`          # quoted values, but no apostrophe inside a word
    | \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b  # UUIDs
    | \bjob_[a-z2-7]{26}[\w.:#/-]*                              # ids of jobs and runs
    | \b0x[0-9a-fA-F]+\b
    | \b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\b                     # hashes
    | \b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{12,}\b                    # other ids: long, with digits and letters
    | (?<!\bsignal[ ])(?<!\bsignal[ ]\d)\d+(?:[.:,-]\d+)*       # numbers, times, addresses, but no signals
    """,
    re.VERBOSE,
)
_APOSTROPHE: Final = re.compile(r"(?<=\w)'(?=\w)")
_STANDING_APOSTROPHE: Final = "\N{RIGHT SINGLE QUOTATION MARK}"


def cause_of(run: Record) -> str:
    """Return the same text for runs that failed in the same way."""
    last = run.attempts[-1] if run.attempts else None
    if last is None or not last.error:
        return _cut(_of_reason(run.reason or ""))
    return _cut(_of_attempt(last))


def _of_reason(reason: str) -> str:
    if found := _UNDELIVERABLE.match(reason):
        return f"undeliverable: {found[1]}"
    return _without_values(reason)


def _of_attempt(attempt: Attempt) -> str:
    error, error_class = attempt.error or "", attempt.error_class or ""
    for prefix, word in _PREFIXED.items():
        if error_class.startswith(prefix):
            return f"{word}{error_class.removeprefix(prefix)}"
    if attempt.outcome == "lost" or error_class == "lost":
        return _of_loss(error)
    if found := _TIMED_OUT.match(error):
        return f"timed out while {_of_phase(found[1])}"
    if found := _PHASE.match(error):
        return _of_call(found["phase"], found["why"])
    if found := _ENDED.match(error):
        return _of_program(found[1], found[2], found[3])
    return _named(error_class, _without_values(error))


def _of_loss(error: str) -> str:
    if found := _DIED.search(error):
        return f"worker died ({found[1]} {found[2]})"
    return "worker was lost" if _SILENT.search(error) else _without_values(error)


def _of_call(phase: str, why: str) -> str:
    text = _without_values(why)
    text = text[:1].lower() + text[1:]
    if found := _CONNECTING.match(phase):
        return f"{text}: {found[1]}:{found[2]}"
    found = _PLACE.match(phase)
    return text if found is None else f"{text}: {found[1]}"


def _of_phase(phase: str) -> str:
    found = _CONNECTING.match(phase)
    return phase if found is None else f"connecting to {found[1]}:{found[2]}"


def _of_program(how: str, number: str, complaint: str | None) -> str:
    if how == "signal":
        return f"program died (signal {number})"
    return f"exit {number}: {_without_values(complaint)}" if complaint else f"exit {number}"


def _named(error_class: str, text: str) -> str:
    if not _CLASS_NAME.fullmatch(error_class) or text.startswith(error_class):
        return text
    return f"{error_class}: {text}" if text else error_class


def _without_values(text: str) -> str:
    """Return one line of text without ids, numbers and quoted values."""
    line = _APOSTROPHE.sub(_STANDING_APOSTROPHE, " ".join(text.split()))
    return _VALUES.sub(GONE, line).replace(_STANDING_APOSTROPHE, "'")


def _cut(text: str) -> str:
    text = " ".join(text.split()) or UNKNOWN
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1].rstrip()}{GONE}"


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """A filter of dead letters. A field that is None lets all of them pass."""

    window: Window = ALWAYS
    """When the run failed."""
    name: str | None = None
    """The beginning of the name of its job."""
    job_id: str | None = None
    cause: str | None = None
    """The text of `cause_of`."""

    @property
    def looks_at_runs(self) -> bool:
        return (self.name, self.job_id, self.cause) != (None, None, None)

    def passes(self, run: Record, name: str | None) -> bool:
        return (
            run.status is Status.FAILED
            and self.window.since <= (run.finished_at or 0) < self.window.until
            and (self.name is None or (name or "").startswith(self.name))
            and self.job_id in (None, run.job_id)
            and (self.cause is None or cause_of(run) == self.cause)
        )


EVERY: Final = FailureFilter()
