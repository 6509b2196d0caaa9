"""Payload templates of event jobs: any JSON, in which a text such as `$.detail.bucket.name` picks from the event.

`$` is the whole event, and `[0]` is the first element of a list. A path that finds nothing gives null. A text that
begins with a dollar is written with two: `$$5` is `$5`. Names with spaces, dots, brackets or quotes cannot be picked.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from onthedot.domain.errors import Problem
from onthedot.domain.json_checks import DEEPEST, at, deeper_than

MOST_PICKS: Final = 100
"""Most paths in a template. Each may pick the whole event, and a small template must not make a huge payload."""

_STEP: Final = r"\.([^\s.\[\]()*?,'\"$\\]+)|\[([0-9]{1,6})\]"
_STEPS: Final = re.compile(_STEP)
_PATH: Final = re.compile(rf"\$(?:{_STEP})*")


def check_template(template: Any) -> list[Problem]:
    """Return the problems of a template that a user wrote. An empty list: `pick` accepts it."""
    if deeper_than(DEEPEST, template):
        return [Problem("", f"a payload that picks from an event is at most {DEEPEST} levels deep")]
    texts = [(path, text) for path, text in _texts(template, "") if text[:1] == "$" and text[:2] != "$$"]
    if len(texts) > MOST_PICKS:
        return [Problem("", f"a payload picks at most {MOST_PICKS} times from an event, this one {len(texts)} times")]
    return [
        Problem(path, f"{_short(text)} is no path such as $.detail.items[0].name; begin a literal with $$")
        for path, text in texts
        if not _PATH.fullmatch(text)
    ]


def pick(template: Any, event: dict[str, Any]) -> Any:
    """Return the payload: the template with its paths replaced by values of the event.

    The template and the event are not changed. The payload may share parts with both. Raise ValueError for a template
    that is too deep.
    """
    if deeper_than(DEEPEST, template):
        raise ValueError(f"a payload template is at most {DEEPEST} levels deep")
    return _pick(template, event)


def _pick(template: Any, event: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _pick(value, event) for name, value in template.items()}
    if isinstance(template, list):
        return [_pick(value, event) for value in template]
    if not isinstance(template, str):
        return template
    if template.startswith("$$"):
        return template[1:]
    return _find(template, event) if _PATH.fullmatch(template) else template


def _find(path: str, event: Any) -> Any:
    found = event
    for name, place in _STEPS.findall(path):
        if name and isinstance(found, dict):
            found = found.get(name)
        elif place and isinstance(found, list) and int(place) < len(found):
            found = found[int(place)]
        else:
            return None
    return found


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, at(path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, at(path, place))


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
