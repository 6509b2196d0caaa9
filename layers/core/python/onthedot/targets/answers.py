"""Answers that performers of several families give, and the texts in them."""

from onthedot.ports import RESULT_BYTES, Answer, Call


def stopped(call: Call) -> Answer:
    """Return the answer of a call that was asked to stop and did."""
    return Answer(ok=False, error=f"stopped: {call.stop.reason}", error_class="stopped")


def timed_out(call: Call, phase: str) -> Answer:
    """Return the answer of a call whose time ended in this phase."""
    return Answer(ok=False, error=f"timed out after {call.timeout_ms} ms while {phase}", error_class="timeout")


def refused(error: str, error_class: str) -> Answer:
    """Return an answer that is final: another attempt would not help."""
    return Answer(ok=False, error=error, error_class=error_class, retryable=False)


def result_text(content: bytes) -> str | None:
    """Return the text to keep as a result, cut at the limit, or None when there is none.

    Bytes that are not UTF-8 are replaced.
    """
    text = content[:RESULT_BYTES].decode("utf-8", errors="replace")
    # A replacement is longer than the byte it replaces. The second cut may split a character, whose rest is dropped.
    return text.encode()[:RESULT_BYTES].decode("utf-8", errors="ignore") or None


def printable(text: str, limit: int) -> str:
    """Return one line of a peer's text that is safe in an error message."""
    line = " ".join(text[: limit * 4].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:limit]
