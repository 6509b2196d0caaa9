"""One text that processes replace if it is still the one that they saw."""

from onthedot.core.formats import refuse_newer_item
from onthedot.core.items import Change, Items, equals
from onthedot.core.keys import Key


class StoredText:
    """A text of one item, which is updated and not put: workers may put nothing but their own items."""

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
        refuse_newer_item(item, self._what)
        return item.text(self._name)

    def replace(self, before: str | None, text: str) -> bool:
        """Replace the text, or the absence of one. Return False if another one is stored."""
        change = Change(sets={self._name: text})
        return self._items.update(self._key, change, [equals(self._name, before)]).done
