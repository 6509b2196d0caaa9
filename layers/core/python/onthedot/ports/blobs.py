"""The store of payloads and results that are too large for a record."""

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
