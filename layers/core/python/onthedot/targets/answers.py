"""Answers that performers of several families give, and the facts that they send to their targets."""

from collections.abc import Mapping
from typing import Final

from onthedot.core.clock import format_instant
from onthedot.core.ports import RESULT_BYTES, Answer, Call


def attempt_facts(call: Call) -> Mapping[str, str]:
    """Return ids and times as text, for headers and environments. The idempotency key is the same in every attempt."""
    facts = {
        "job": call.job_id,
        "run": call.run_id,
        "attempt": str(call.attempt),
        "fire_time": format_instant(call.fire_time),
        "idempotency_key": call.run_id,
    }
    return {**facts, "traceparent": call.traceparent} if call.traceparent else facts


MAX_RETRY_AFTER_MS: Final = 24 * 60 * 60 * 1000
"""The longest wait that a target may ask for. A longer one is cut."""


def retry_after_seconds_ms(text: str) -> int | None:
    """Return the wait that a `Retry-After` in seconds asks for, at most MAX_RETRY_AFTER_MS. None: not a number."""
    if not (text.isascii() and text.isdigit()):
        return None
    # Python refuses to read a number of thousands of digits.
    return MAX_RETRY_AFTER_MS if len(text.lstrip("0")) > 5 else min(int(text[-5:]) * 1000, MAX_RETRY_AFTER_MS)


def stopped(call: Call) -> Answer:
    return Answer(ok=False, error=f"stopped: {call.stop.reason}", error_class="stopped")


def timed_out(call: Call, phase: str) -> Answer:
    return Answer(ok=False, error=f"timed out after {call.timeout_ms} ms while {phase}", error_class="timeout")


def refused(error: str, error_class: str) -> Answer:
    """Another attempt would not help."""
    return Answer(ok=False, error=error, error_class=error_class, retryable=False)


def result_text(content: bytes) -> str | None:
    """Return the text to keep as a result, cut at the limit, or None when there is none."""
    text = content[:RESULT_BYTES].decode("utf-8", errors="replace")
    # A replacement is longer than the byte it replaces. The second cut may split a character, whose rest is dropped.
    return text.encode()[:RESULT_BYTES].decode("utf-8", errors="ignore") or None


def printable(text: str, limit: int) -> str:
    """Return one line of a peer's text that is safe in an error message."""
    line = " ".join(text[: limit * 4].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:limit]
