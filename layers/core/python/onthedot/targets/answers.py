"""Answers that targets of several kinds give, and what may stand in them."""

from onthedot.ports import RESULT_BYTES, Answer, Call


def stopped(call: Call) -> Answer:
    """The call was asked to end early, and did."""
    return Answer(ok=False, error=f"stopped: {call.stop.reason}", error_class="stopped")


def timed_out(call: Call, stage: str) -> Answer:
    return Answer(ok=False, error=f"timed out after {call.timeout_ms} ms while {stage}", error_class="timeout")


def refused(error: str, error_class: str) -> Answer:
    """Trying again would not help."""
    return Answer(ok=False, error=error, error_class=error_class, retryable=False)


def result_text(content: bytes) -> str | None:
    """Text that is kept as a result: what is no UTF-8 replaced, and cut where the limit is; None for nothing."""
    text = content[:RESULT_BYTES].decode("utf-8", errors="replace")
    # What was replaced has grown, and a letter cut in two must not look like one.
    return text.encode()[:RESULT_BYTES].decode("utf-8", errors="ignore") or None


def printable(text: str, limit: int) -> str:
    """One line of what a peer sent, fit for an error message."""
    line = " ".join(text[: limit * 4].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:limit]
