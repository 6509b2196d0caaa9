"""What conditions and changes of items mean, for the engine that keeps items as values and for expired items on AWS."""

from collections.abc import Callable, Mapping
from operator import eq, gt, lt
from typing import Any, Final

from onthedot.core.items import (
    EXPIRES_AT,
    AnyOf,
    Change,
    Check,
    Condition,
    Value,
    Values,
)


def has_expired(values: Values, now: int) -> bool:
    """Return whether these are the values of an item that has expired. `now` is in milliseconds."""
    expiry = values.get(EXPIRES_AT)
    return isinstance(expiry, int) and expiry <= now // 1000


def holds(condition: Condition, values: Values | None) -> bool:
    """Return whether the condition holds for these values. None: there is no item."""
    return all(
        any(_holds(one, values) for one in check.checks) if isinstance(check, AnyOf) else _holds(check, values)
        for check in condition
    )


def _holds(check: Check, values: Values | None) -> bool:
    kind, name, wanted = check
    found: Any = None if values is None else values.get(name)
    match kind:
        case "missing" | "present":
            return (values is None) == (kind == "missing")
        case "absent" | "exists":
            return (found is None) == (kind == "absent")
        case "fewer":
            return found is None or (isinstance(found, frozenset) and len(found) < wanted)
        case "contains":
            return isinstance(found, frozenset) and wanted in found
    return type(found) is type(wanted) and _COMPARES[kind](found, wanted)


_COMPARES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"=": eq, "<": lt, ">": gt}


def applied(change: Change, values: Values) -> dict[str, Value]:
    after = dict(values)
    for name, value in change.sets.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = value
    for name, more in change.adds.items():
        before: Any = after.get(name, 0 if isinstance(more, int) else frozenset())
        after[name] = before + more if isinstance(more, int) else before | more
    for name, gone in change.takes.items():
        left: Any = after.get(name, frozenset()) - gone  # type: ignore[operator]
        if left:
            after[name] = left
        else:
            after.pop(name, None)
    return after
