"""The store of the number of shards that writers have used."""

from onthedot.core import shards
from onthedot.core.items import Items, StoredText
from onthedot.core.keys import shards_key
from onthedot.core.shards import ShardHistory


class ShardStore:
    """The history of the number of shards."""

    def __init__(self, items: Items) -> None:
        self._text = StoredText(items, shards_key(), "steps", "the number of shards")

    def read(self) -> ShardHistory:
        """Return the history as it is now. It is empty before the first writer."""
        return _history(self._text.read())

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        """Replace the history that was seen. Return False if the stored history is another one.

        After a lost reply it may be the caller's own. Then the caller finds it when it reads again.
        """
        # The condition is on the stored text. Another version may write the same history as another text.
        before = self._text.read()
        return _history(before) == seen and self._text.replace(before, shards.to_text(history))


def _history(text: str | None) -> ShardHistory:
    return shards.from_text(text) if text else ShardHistory()
