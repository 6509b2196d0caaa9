"""Types of the answers about signing keys."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class SigningKeyView(TypedDict):
    """A key. It stops signing at `retires_at`, which is null for the newest key."""

    secret: str
    created_at: str
    retires_at: str | None


class SigningKeysView(TypedDict):
    """The tenant's keys, the newest first. Each of them signs every call until it retires."""

    keys: list[SigningKeyView]
