"""Read a request's body as a JSON object, or refuse it and say where it is wrong. No body crashes the reader.

It is stricter than `json.loads`: no NaN or Infinity, no number beyond the range that JSON readers agree on, no repeated
key, no half of a surrogate pair, and no nesting that would exhaust the stack of the next reader.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from onthedot.api.core.errors import bad_json, too_large

MAX_DEPTH: Final = 100
MAX_DIGITS: Final = 600
_canonical: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_SURROGATES: Final = "has half of a surrogate pair, which is no text; send the whole character"
_NOT_FINITE: Final = "is not a number JSON can carry (NaN, infinite or too long); send a smaller one"


def read_object(body: bytes, limit: int, depth: int = MAX_DEPTH) -> dict[str, Any]:
    """Return the object in the body. Raise ApiError: 413 over the limit, 400 for all other mistakes."""
    if len(body) > limit:
        raise too_large("body", limit, len(body))
    document = _parse(_decode(body))
    if not isinstance(document, dict):
        raise bad_json("body", "is not a JSON object; send {…} with the fields of this call")
    check_values(document, depth)
    return document


def check_values(document: Any, depth: int = MAX_DEPTH) -> None:
    """Raise ApiError 400 for a document that is nested too deep, or has a value that JSON cannot express.

    Encoding the whole document is much faster than checking each value. So the values are checked only when the
    encoding fails, to find the value at fault.
    """
    if _is_deeper(document, depth):
        raise bad_json("body", f"is nested deeper than {depth} levels; flatten it")
    try:
        canonical(document)
    except ValueError as error:
        field, message = next(_find_unfit(document))
        raise bad_json(field, message) from error


def canonical(value: Any) -> bytes:
    """Return the one spelling of a JSON value. Raise ValueError for a value that is not JSON or not UTF-8."""
    return _canonical(value).encode()


def _decode(body: bytes) -> str:
    if not body.strip():
        raise bad_json("body", "is empty; send a JSON object")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise bad_json("body", f"is not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise bad_json("body", f"is not JSON at {where}: {error.msg}; correct it there") from error
    except RecursionError as error:
        raise bad_json("body", f"is nested deeper than {MAX_DEPTH} levels; flatten it") from error


def _parse_int(digits: str) -> float:
    """Return the integer, or infinity when it has more digits than the interpreter reads. Infinity is refused later."""
    return int(digits) if len(digits) <= MAX_DIGITS else math.inf


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object. Raise ApiError 400 for a repeated key."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise bad_json(twice, "is given twice in one object; keep one of them")
    return found


def _is_deeper(document: Any, levels: int) -> bool:
    level = [document]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(parent: Any) -> Any:
    return parent.values() if isinstance(parent, dict) else parent


def _find_unfit(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _find_unfit(key, f"{path}.{key}".lstrip("."))
            yield from _find_unfit(child, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _find_unfit(child, f"{path}.{index}".lstrip("."))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path or "body", _NOT_FINITE
    elif isinstance(value, str) and not _is_text(value):
        yield path or "body", _SURROGATES


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
