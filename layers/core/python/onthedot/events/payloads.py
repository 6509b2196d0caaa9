"""Payloads of event jobs: templates that pick values from the event, and where they are stored."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from onthedot.core import json_text
from onthedot.core.errors import Problem
from onthedot.core.json_text import DEEPEST, at, deeper_than
from onthedot.core.payloads import INLINE_BYTES, load_payload
from onthedot.core.ports import Blobs
from onthedot.core.records import Definition, Record
from onthedot.core.schema import EVENT_PAYLOADS, blobs_of

MOST_PICKS: Final = 100
"""The most paths in a template. Each may pick the whole event, and a small template must not make a huge payload."""

_STEP: Final = r"\.([^\s.\[\]()*?,'\"$\\]+)|\[([0-9]{1,6})\]"
_STEPS: Final = re.compile(_STEP)
_PATH: Final = re.compile(rf"\$(?:{_STEP})*")


def check_template(template: Any) -> list[Problem]:
    if deeper_than(DEEPEST, template):
        return [Problem("", f"a payload that picks from an event may be at most {DEEPEST} levels deep")]
    texts = [(path, text) for path, text in _texts(template, "") if text[:1] == "$" and text[:2] != "$$"]
    if len(texts) > MOST_PICKS:
        problem = f"a payload may pick at most {MOST_PICKS} times from an event; this one picks {len(texts)}"
        return [Problem("", problem)]
    return [
        Problem(path, f"{_short(text)} is not a path such as $.detail.items[0].name; begin a literal with $$")
        for path, text in texts
        if not _PATH.fullmatch(text)
    ]


def pick(template: Any, event: dict[str, Any]) -> Any:
    """Return the template with its paths replaced by values of the event. The payload may share parts with both.

    Raise ValueError for a template that is too deep.
    """
    if deeper_than(DEEPEST, template):
        raise ValueError(f"a payload template may be at most {DEEPEST} levels deep")
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


LARGEST: Final = 1024 * 1024


class PayloadTooLarge(Exception):
    """The payload that a job picks from an event is larger than a payload may be."""


class Payloads:
    """The payloads that one event gives to runs. A large one that is the same for many jobs is stored once."""

    def __init__(self, blobs: Blobs, event: dict[str, Any]) -> None:
        self._blobs = blobs
        self._event = event
        self._stored: set[str] = set()

    def added_to(self, run: Record, job: Record) -> Record:
        """Return the run with its payload. Raise PayloadTooLarge or Unavailable."""
        content = json_text.to_bytes(self._picked(job.definition))
        if len(content) > LARGEST:
            raise PayloadTooLarge(f"its payload would have {len(content):,} bytes, but at most {LARGEST:,} are allowed")
        return _kept(self._blobs, run, content, self._stored)

    def _picked(self, definition: Definition | None) -> Any:
        """Pick the payload. A job without a payload of its own, or with null, gets the whole event."""
        template = None if definition is None else json.loads(load_payload(self._blobs, definition))
        return self._event if template is None else pick(template, self._event)


def given_payload(blobs: Blobs, run: Record, payload: Any) -> Record:
    """Return the run with a payload that a client gave to this run only. Raise Unavailable."""
    return _kept(blobs, run, json_text.to_bytes(payload), set())


def _kept(blobs: Blobs, run: Record, content: bytes, stored: set[str]) -> Record:
    """Keep the payload in the record, or as a blob unless that is stored already."""
    if len(content) <= INLINE_BYTES:
        return replace(run, payload=content.decode())
    key = f"{blobs_of(run.tenant, EVENT_PAYLOADS)}{hashlib.sha256(content).hexdigest()}"
    if key not in stored:
        blobs.put(key, content)
        stored.add(key)
    return replace(run, payload_ref=key)
