"""Content that is too large for a record."""

from typing import Protocol


class Blobs(Protocol):
    """Keeps what is too large for a record, by a key that is derived from the content."""

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def link(self, key: str, seconds: int) -> str | None:
        """A URL that shows the content to whoever has it, for this time; None where the engine has no such thing."""
        ...
