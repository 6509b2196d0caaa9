"""The limits of tenants and of gates. Those that cannot be read stop their runs.

So these runs wait: none is lost, and none starts that the limits might forbid.
"""

import json
import logging
from dataclasses import asdict, fields, replace
from typing import Final, TypeVar

from onthedot.core import json_text
from onthedot.core.items import Item, Items, whole
from onthedot.core.ports import Clock, Page
from onthedot.core.remembered import Remembered
from onthedot.core.schema import (
    GATES_PREFIX,
    LIMITS_PARTITION,
    TENANT_PREFIX,
    Key,
    gate_limits_key,
    gate_name_of,
    limits_key,
)
from onthedot.gates.limits import KNOWN_MS, GateLimits, Limits, TenantLimits

_LOG: Final = logging.getLogger(__name__)
_LIMITS: Final = "limits"
UNKNOWN_MS: Final = 5_000
"""While limits cannot be read, the last known ones count for this long. Then nothing starts that they may limit."""
DAMAGED: Final = (AttributeError, KeyError, TypeError, ValueError)
Kind = TypeVar("Kind", bound=GateLimits)


class LimitsStore:
    """The limits of tenants. A store that remembers reads each at most every second."""

    def __init__(self, items: Items, clock: Clock, *, remembers: bool = False) -> None:
        self._items = items
        known = KNOWN_MS if remembers else 0
        self._all: Remembered[None, Limits] = Remembered(
            self._read,
            clock,
            known_ms=known,
            unknown_ms=None if remembers else 0,
            failure="limits_unknown",
            stale=lambda limits: replace(limits, known=False),
        )
        self._found: Remembered[str, TenantLimits | None] = Remembered(
            self._find, clock, known_ms=known, unknown_ms=UNKNOWN_MS if remembers else 0, failure="limits_unknown"
        )

    def read(self) -> Limits:
        """Return the limits of all tenants that have any. Limits that cannot be read are left out.

        While the table fails, a store that remembers returns the last ones, marked as not known to be right.
        """
        return self._all.find(None)

    def find(self, tenant: str) -> TenantLimits | None:
        return self._found.find(tenant)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        _put(self._items, limits_key(tenant), limits)
        self._all.forget(None)
        self._found.forget(tenant)

    def _read(self, _: None) -> Limits:
        tenants: dict[str, TenantLimits] = {}
        # Earlier versions stored marks of throttled tenants next to the items that have this prefix.
        for item in whole(self._items.query, LIMITS_PARTITION, begins=TENANT_PREFIX, may_lag=True):
            try:
                tenants[item.key.sort.removeprefix(TENANT_PREFIX)] = limits_of(TenantLimits, _text(item))
            except DAMAGED as error:
                # One damaged item must not stop the runs of all tenants.
                _LOG.error("limits_unreadable", extra={"item": item.key.sort, "why": repr(error)})
        return Limits(tenants)

    def _find(self, tenant: str) -> TenantLimits | None:
        item = self._items.get(limits_key(tenant))
        return None if item is None else _or_stop(TenantLimits, item, tenant=tenant)


class GateLimitsStore:
    """The limits of gates. A store that remembers reads those of a gate at most every second."""

    def __init__(self, items: Items, clock: Clock, *, remembers: bool = False) -> None:
        self._items = items
        self._found: Remembered[tuple[str, str], GateLimits | None] = Remembered(
            self._find,
            clock,
            known_ms=KNOWN_MS if remembers else 0,
            unknown_ms=UNKNOWN_MS if remembers else 0,
            failure="limits_unknown",
        )

    def find(self, tenant: str, name: str) -> GateLimits | None:
        return self._found.find((tenant, name))

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        """Set the limits of a gate. None deletes it, and its state stays."""
        _put(self._items, gate_limits_key(tenant, name), limits)
        self._found.forget((tenant, name))

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        after = None if cursor is None else gate_limits_key(tenant, cursor).sort
        # One item more than the page shows whether there is another page.
        page = self._items.query(GATES_PREFIX + tenant, after=after, limit=limit + 1)
        gates = [(gate_name_of(item.key), _gate_limits(tenant, item)) for item in page.items[:limit]]
        more = page.cursor is not None or len(page.items) > limit
        return Page(gates, gates[-1][0] if gates and more else None)

    def _find(self, gate: tuple[str, str]) -> GateLimits | None:
        item = self._items.get(gate_limits_key(*gate))
        return None if item is None else _gate_limits(gate[0], item)


def limits_of(kind: type[Kind], text: str) -> Kind:
    """Return the limits from their text, without those that a newer version wrote. Raise one of `DAMAGED`."""
    names = {field.name for field in fields(kind)}
    known = {name: value for name, value in json.loads(text).items() if name in names and value is not None}
    for name, value in known.items():
        types = {"put_by": (str,), "paused": (bool,)}.get(name, (int, float))
        if type(value) not in types:
            raise ValueError(f"its {name} is {value!r}")
    return kind(**known)


def _put(items: Items, key: Key, limits: GateLimits | None) -> None:
    if limits is None:
        items.delete(key)
    else:
        text = json_text.to_text({name: value for name, value in asdict(limits).items() if value is not None})
        items.put(key, {_LIMITS: text})


def _gate_limits(tenant: str, item: Item) -> GateLimits:
    return _or_stop(GateLimits, item, tenant=tenant, gate=gate_name_of(item.key))


def _or_stop(kind: type[Kind], item: Item, **of: str) -> Kind:
    try:
        return limits_of(kind, _text(item))
    except DAMAGED as error:
        _LOG.error("limits_unreadable", extra={**of, "why": repr(error)})
        return kind(paused=True)


def _text(item: Item) -> str:
    return "" if item.is_newer else item.text(_LIMITS)
