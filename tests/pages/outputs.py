"""Compare an output with the one on a page: ids, times and numbers differ, words and shapes do not."""

import json
import re
from typing import Any

MASKS = [
    (r"\b(job|worker|tok|frz|run)_[A-Za-z0-9_.-]+", r"\1_ID"),
    (r"\b[0-9a-f]{12,64}\b", "HEX"),
    (r"https?://(127\.0\.0\.1|localhost):\d+\S*?(?=/|\s|$)", "URL"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "DAY"),
    (r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b", "MONTH"),
    (r"\b(today|tomorrow)\b", "DAY"),
    (r"\b(UTC|[A-Z]{3,4}(?=,))\b|[+-]\d\d:\d\d", "ZONE"),
    (r"\d+(?:[.,:]\d+)*", "0"),
    (r"\b0 (?:ms|s|seconds?|minutes?)\b", "0 TIME"),
    (r"\s+", " "),
]
ANYTHING = "…"


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text.strip()


def differences(expected: str, found: str, language: str) -> list[str]:
    """Return the lines or fields of the page that the output does not have."""
    if language == "json":
        return _missing(json.loads(expected), json.loads(found), "answer")
    lines = iter([masked(line) for line in found.splitlines() if line.strip()])
    wanted = [line for line in expected.splitlines() if line.strip() and line.strip() != ANYTHING]
    return [line for line in wanted if not any(_same(masked(line), each) for each in lines)]


def _same(expected: str, found: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split(ANYTHING))
    return re.fullmatch(pattern, found) is not None


def _missing(expected: Any, found: Any, place: str) -> list[str]:
    """Return the places where the answer differs. It may have more fields than the page. Null fits all."""
    match expected, found:
        case (None, _) | (_, None):
            return []
        case dict(), dict():
            lost = [f"{place}.{key} is not there" for key in expected.keys() - found.keys()]
            same = [key for key in expected if key in found]
            return lost + [text for key in same for text in _missing(expected[key], found[key], f"{place}.{key}")]
        case list(), list() if expected and found:
            return _missing(expected[0], found[0], f"{place}.0")
        case list(), list():
            return []
        case str(), str():
            return [] if _same(masked(expected), masked(found)) else [f"{place} is {found!r}, not like {expected!r}"]
    is_number = isinstance(expected, int | float) and isinstance(found, int | float)
    return [] if is_number and isinstance(expected, bool) == isinstance(found, bool) else [f"{place} is {found!r}"]
