"""Items: the port for everything that is stored and is not a run. Each engine implements it once.

An item has a partition, a place in the order of its partition, and named values. An item whose `expires_at` has passed
is as if it were not there, for reads, conditions and changes, even if it is still stored; only `scan` returns it.

Every method may raise Unavailable after its bounded retries. A write that raised it may have happened. So a caller that
must know writes a text that no one else writes, and finds it again in the item that refuses its second try.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq, gt, lt
from typing import Any, Final, NamedTuple, Protocol

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Page
from onthedot.core.schema import TTL_ATTRIBUTE, Key

Value = str | int | frozenset[str]
Values = Mapping[str, Value]
EXPIRES_AT: Final = TTL_ATTRIBUTE
"""The value with the epoch second from which an item has expired."""

FORMAT: Final = "format"
"""The value with the format of an item. As with records, the first format is not stored. See `codec.FORMAT`."""


class Item(NamedTuple):
    """A stored item. Whoever reads a damaged value gets KeyError or TypeError."""

    key: Key
    values: Values

    def text(self, name: str) -> str:
        value = self.values[name]
        if not isinstance(value, str):
            raise TypeError(f"{name} is not text")
        return value

    def number(self, name: str) -> int:
        value = self.values[name]
        if not isinstance(value, int):
            raise TypeError(f"{name} is not an integer")
        return value

    def texts(self, name: str) -> frozenset[str]:
        value = self.values.get(name, frozenset())
        if not isinstance(value, frozenset):
            raise TypeError(f"{name} is not a set")
        return value

    @property
    def is_newer(self) -> bool:
        return FORMAT in self.values

    def refuse_newer(self, what: str) -> None:
        """Raise Unavailable for an item from a newer version. A process of that version can handle it."""
        if self.is_newer:
            raise Unavailable(
                f"{what} has format {self.values[FORMAT]}, which only a newer version of onthedot can read"
            )


class Check(NamedTuple):
    kind: str
    name: str
    value: Any = None

    def __or__(self, other: "Check | AnyOf") -> "AnyOf":
        return AnyOf((self, *(other.checks if isinstance(other, AnyOf) else (other,))))


class AnyOf(NamedTuple):
    checks: tuple[Check, ...]

    def __or__(self, other: Check) -> "AnyOf":
        return AnyOf((*self.checks, other))


Condition = Sequence[Check | AnyOf]
"""All of them must hold, for the item as it is stored."""
MISSING: Final = Check("missing", "")
PRESENT: Final = Check("present", "")


def absent(name: str) -> Check:
    """Check that the item has no such value, or that there is no item."""
    return Check("absent", name)


KNOWN_FORMAT: Final[Check] = absent(FORMAT)


def exists(name: str) -> Check:
    return Check("exists", name)


def equals(name: str, value: Value | None) -> Check:
    return absent(name) if value is None else Check("=", name, value)


def below(name: str, bound: str | int) -> Check:
    """Check that the value is less. An absent one is not, nor is one of another type."""
    return Check("<", name, bound)


def above(name: str, bound: str | int) -> Check:
    return Check(">", name, bound)


def fewer(name: str, number: int) -> Check:
    """Check that the set has fewer texts than this number. An absent one has none."""
    return Check("fewer", name, number)


def contains(name: str, text: str) -> Check:
    return Check("contains", name, text)


@dataclass(frozen=True, slots=True)
class Change:
    """What an update changes. It names each value once."""

    sets: Mapping[str, Value | None] = field(default_factory=dict)
    """The new values. None removes one."""
    adds: Mapping[str, int | frozenset[str]] = field(default_factory=dict)
    """Numbers to add, where an absent value counts as 0, and texts to add to sets."""
    takes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Texts to remove from sets. A set without texts is absent."""


class Written(NamedTuple):
    done: bool
    item: Item | None
    """The item after the write, or the one that refused it. None if there is none."""


class Update(NamedTuple):
    """One of many updates. Its condition has no `AnyOf`, and all its checks are `equals` or `absent`."""

    key: Key
    change: Change
    condition: Condition


class Scanned(NamedTuple):
    items: Sequence[Item]
    last: Key | None


class Items(Protocol):
    """A store of items. A read is of the current state unless the caller says that it may lag by some seconds."""

    def get(self, key: Key) -> Item | None: ...

    def get_many(self, keys: Sequence[Key], *, may_lag: bool = False) -> Sequence[Item]: ...

    def query(
        self,
        partition: str,
        *,
        begins: str = "",
        span: tuple[str, str] | None = None,
        after: str | None = None,
        limit: int | None = None,
        may_lag: bool = False,
    ) -> Page[Item]:
        """Return a page of a partition, in the order of its sort keys. The cursor is the `after` of the next page.

        `begins` or `span`, which includes its ends, choose by the sort key. A page may have fewer items than `limit`,
        also none, and still have a cursor.
        """

    def put(self, key: Key, values: Values, condition: Condition = ()) -> Written:
        """Store an item in the place of the one that is there. It costs one write unit for each KB."""

    def put_many(self, items: Sequence[Item]) -> None: ...

    def update(self, key: Key, change: Change, condition: Condition = ()) -> Written:
        """Change an item, whole or not at all. An item that is not there is made."""

    def update_many(self, updates: Sequence[Update]) -> Sequence[bool]:
        """Change different items, each on its own. Return for each whether it is known to be done."""

    def delete(self, key: Key) -> None: ...

    def delete_many(self, keys: Sequence[Key]) -> None:
        """Delete items, each on its own. A key may also be that of a run, as `scan` returns it."""

    def scan(self, limit: int, after: Key | None = None, only: Sequence[str] = ()) -> Scanned:
        """Return a page of items and records in an order that stays. With `only`, few values are read."""

    def about(self) -> int | None:
        """Return about how many items and records `scan` returns. None: it is not known."""


def whole(query: Callable[..., Page[Item]], partition: str, **options: Any) -> Iterator[Item]:
    after: str | None = None
    while True:
        page = query(partition, after=after, **options)
        yield from page.items
        after = page.cursor
        if after is None:
            return


class StoredText:
    """A text of one item that processes replace if it is still the one that they saw.

    It is updated and not put: workers may put nothing but their own items.
    """

    def __init__(self, items: Items, key: Key, name: str, what: str) -> None:
        self._items = items
        self._key = key
        self._name = name
        self._what = what

    def read(self) -> str | None:
        """Return the text as it is now, if there is one. Raise KeyError or TypeError for a damaged item."""
        item = self._items.get(self._key)
        if item is None:
            return None
        item.refuse_newer(self._what)
        return item.text(self._name)

    def replace(self, before: str | None, text: str) -> bool:
        change = Change(sets={self._name: text})
        return self._items.update(self._key, change, [equals(self._name, before)]).done


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
