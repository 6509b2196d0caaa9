"""The store of payloads and results that are too large for a record."""

from collections.abc import Sequence
from typing import Protocol


class Blobs(Protocol):
    """A store of content that is too large for a record."""

    def put(self, key: str, content: bytes) -> None:
        """Store the content under the key. Callers derive the key from the content or from the run."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the content, or None when there is none under the key."""
        ...

    def link(self, key: str, seconds: int) -> str | None:
        """Return a URL that shows the content to anyone who has it, for this many seconds.

        Return None when the engine cannot make such URLs.
        """
        ...


class ListedBlobs(Blobs, Protocol):
    """A store of blobs that can be listed and deleted, for the pass that removes unused ones."""

    def keys(self, prefix: str, after: str, limit: int) -> Sequence[str]:
        """Return the first keys with this prefix that come after a key, in order."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete these blobs. A key without a blob is no error."""
        ...
