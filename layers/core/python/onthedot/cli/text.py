"""Texts for a terminal: those of other programs safe and short, and counts with their nouns."""

from typing import Final

MOST_SHOWN: Final = 200
"""Characters of one value that people see. `--json` has all of them."""


def printable(text: str) -> str:
    """Return the text with escapes for characters that could control a terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def short(text: str) -> str:
    """Return the text, or its beginning and its length."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 job" or "2,300 jobs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
