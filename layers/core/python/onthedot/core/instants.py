"""Instants: epoch milliseconds inside, RFC 3339 in UTC with milliseconds outside."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(instant: int) -> datetime:
    """Return the instant as an aware datetime in UTC, exact to the millisecond."""
    return EPOCH + timedelta(milliseconds=instant)


def format_instant(instant: int) -> str:
    """Return the instant as users see it, such as `2026-03-01T12:00:00.000Z`."""
    return moment_of(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")
