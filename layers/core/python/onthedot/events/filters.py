"""The filters of event patterns, such as `{"prefix": "x"}`: the check of their arguments and the match of a value.

Text filters match texts only, and `numeric` matches numbers only. `anything-but` matches every present value, of any
kind, except the values that it names. A filter gets one value. `patterns.py` handles lists and absent fields.
"""

import ipaddress
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

_TOKEN: Final = re.compile(r"\\[*\\]|[^\\]", re.DOTALL)


def wildcard_fault(argument: Any) -> str:
    if not isinstance(argument, str):
        return "must be a string"
    tokens = _TOKEN.findall(argument)
    if "".join(tokens) != argument:
        return "a backslash is allowed only before * or another backslash"
    if any(pair == ("*", "*") for pair in pairwise(tokens)):
        return "two wildcards must not follow each other"
    return ""


def wildcard_fits(argument: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    first, *rest = _literals(argument)
    if not rest:
        return value == first
    *middle, last = rest
    end = len(value) - len(last)
    if not value.startswith(first) or not value.endswith(last) or end < len(first):
        return False
    place = len(first)
    for literal in middle:
        place = value.find(literal, place, end)
        if place < 0:
            return False
        place += len(literal)
    return True


@lru_cache(maxsize=1024)
def _literals(argument: str) -> tuple[str, ...]:
    """Return the texts between the wildcards, without escapes: one more than there are wildcards."""
    literals = [""]
    for part in _TOKEN.findall(argument):
        if part == "*":
            literals.append("")
        else:
            literals[-1] += part[-1]
    return tuple(literals)


_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CIDR: Final = re.compile(r"[0-9a-fA-F.:]+/[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Filter:
    fault: Callable[[Any], str]
    """Returns the fault of an argument, or an empty text."""
    fits: Callable[[Any, Any], bool]
    """Returns whether a value matches. The argument, which comes first, must have no fault."""


def is_number(value: Any) -> bool:
    """Return whether the value is a finite JSON number, which Python's `True` is not."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_value(value: Any) -> bool:
    """Return whether a pattern can list the value itself: a text, a finite number, a boolean or null."""
    return value is None or isinstance(value, str | bool) or is_number(value)


def equal(expected: Any, value: Any) -> bool:
    """Return whether both are equal and of one kind: 300 is 300.0, but 1 is neither true nor "1"."""
    if isinstance(expected, bool) or isinstance(value, bool):
        return expected is value
    return bool(expected == value)


def fault_of(written: dict[str, Any]) -> str:
    """Return the fault of a filter as a user wrote it, or an empty text."""
    if len(written) != 1:
        return f"a filter has exactly one name; this one has {len(written)}"
    [(name, argument)] = written.items()
    known = FILTERS.get(name)
    return known.fault(argument) if known else f"unknown filter {name!r}: {_hint(name)}"


def fits(matcher: Any, value: Any) -> bool:
    """Return whether a present value equals the one in the pattern, or matches the filter there."""
    if not isinstance(matcher, dict):
        return equal(matcher, value)
    [(name, argument)] = matcher.items()
    return FILTERS[name].fits(argument, value)


def _hint(name: str) -> str:
    close = get_close_matches(name, FILTERS, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"a list contains plain values and the filters {', '.join(FILTERS)}; write a nested object without brackets"


def _text_fault(argument: Any) -> str:
    return "" if isinstance(argument, str) else "must be a string"


def _part_fault(argument: Any) -> str:
    """Check the argument of `prefix` and `suffix`, which may ignore case."""
    if isinstance(argument, dict):
        if list(argument) != ["equals-ignore-case"] or not isinstance(argument["equals-ignore-case"], str):
            return 'must be a string or {"equals-ignore-case": string}'
        return ""
    return _text_fault(argument)


def _numeric_fault(argument: Any) -> str:
    if not isinstance(argument, list) or len(argument) not in {2, 4}:
        return 'must be [operator, number] or [operator, number, operator, number], such as [">", 0, "<=", 5]'
    if any(sign not in _COMPARE for sign in argument[::2] if isinstance(sign, str)):
        return f"knows only the operators {', '.join(_COMPARE)}"
    if not all(isinstance(sign, str) for sign in argument[::2]) or not all(map(is_number, argument[1::2])):
        return "must alternate operators and finite numbers"
    return _range_fault(*argument) if len(argument) == 4 else ""


def _range_fault(low_sign: str, low: float, high_sign: str, high: float) -> str:
    if low_sign not in {">", ">="} or high_sign not in {"<", "<="}:
        return "names a range's lower end first (> or >=), then its upper end (< or <=)"
    return "" if low < high else f"names an empty range: {low} is not below {high}"


def _numeric_fits(argument: list[Any], value: Any) -> bool:
    pairs = zip(argument[::2], argument[1::2], strict=True)
    return is_number(value) and all(_COMPARE[sign](value, bound) for sign, bound in pairs)


def _cidr_fault(argument: Any) -> str:
    if isinstance(argument, str) and _CIDR.fullmatch(argument) and _network(argument):
        return ""
    return 'must be an address range such as "10.0.0.0/24" or "2001:db8::/32"'


@lru_cache(maxsize=1024)
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _cidr_fits(argument: str, value: Any) -> bool:
    network = _network(argument)
    # Python reads `%` and a zone after it as part of an address. It does not change the address, so it is refused.
    if network is None or not isinstance(value, str) or "%" in value:
        return False
    try:
        return ipaddress.ip_address(value) in network
    except ValueError:
        return False


def _same_but_case(argument: str, value: Any) -> bool:
    """Compare without case as Unicode does. AWS compares letter by letter, which differs for a few such as ß."""
    return isinstance(value, str) and value.casefold() == argument.casefold()


def _part_fits(has_part: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def fits(argument: Any, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        if isinstance(argument, dict):
            return has_part(value.casefold(), argument["equals-ignore-case"].casefold())
        return has_part(value, argument)

    return fits


def _but_fault(argument: Any) -> str:
    if isinstance(argument, dict):
        return _but_filter_fault(argument)
    values = argument if isinstance(argument, list) else [argument]
    if values and (all(isinstance(v, str) for v in values) or all(map(is_number, values))):
        return ""
    return "must be a string, a number, a list of strings, a list of numbers, or a filter of strings"


def _but_filter_fault(argument: dict[str, Any]) -> str:
    if len(argument) != 1 or not _BUT.keys() >= argument.keys():
        return f"takes exactly one of the filters {', '.join(_BUT)}"
    [(name, texts)] = argument.items()
    texts = texts if isinstance(texts, list) else [texts]
    if not texts or not all(isinstance(text, str) for text in texts):
        return f"{name} must be a string or a list of strings here"
    if "" in texts and name in {"prefix", "suffix"}:
        return f"an empty {name} would leave nothing to match"
    return next(filter(None, (_BUT[name].fault(text) for text in texts)), "")


def _but_fits(argument: Any, value: Any) -> bool:
    if isinstance(argument, dict):
        [(name, texts)] = argument.items()
        return not any(_BUT[name].fits(text, value) for text in (texts if isinstance(texts, list) else [texts]))
    return not any(equal(one, value) for one in (argument if isinstance(argument, list) else [argument]))


_BUT: Final = {
    "prefix": Filter(_part_fault, _part_fits(str.startswith)),
    "suffix": Filter(_part_fault, _part_fits(str.endswith)),
    "equals-ignore-case": Filter(_text_fault, _same_but_case),
    "wildcard": Filter(wildcard_fault, wildcard_fits),
}
FILTERS: Final = {
    **_BUT,
    "anything-but": Filter(_but_fault, _but_fits),
    "numeric": Filter(_numeric_fault, _numeric_fits),
    "exists": Filter(lambda argument: "" if isinstance(argument, bool) else "must be true or false", lambda a, _: a),
    "cidr": Filter(_cidr_fault, _cidr_fits),
}
