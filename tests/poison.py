"""Poisoned records: stored fields that this version cannot read or handle, as plain data for every tier.

A poison changes the stored fields of a healthy record, as `codec.encode` returns them. SQLite and DynamoDB store the
same fields, so both tiers poison records in the same way.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

REMOVE: Final = object()
"""In place of a value: the field is not stored."""

_RECURRING: Final = {"kind": "recurring", "status": "ACTIVE"}
_CRON: Final = {"cron": "* * * * *"}

UNREADABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "no generation": {"generation": REMOVE},
    "unknown kind": {"kind": "quantum"},
    "unknown status": {"status": "HIBERNATING"},
    "unknown priority": {"priority": "URGENT"},
    "definition not JSON": {"definition": "{not JSON"},
    "zone gone": {**_RECURRING, "recurrence": json.dumps({**_CRON, "timezone": "Mars/Olympus_Mons"})},
    "no schedule": {**_RECURRING, "recurrence": REMOVE},
    "newer format": {"format": 999},
}
"""Records that no pass may move, only set aside."""

READABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "unknown pool": {"pool": "removed"},
    "newer nested fields": {
        "definition": json.dumps(
            {
                "url": "http://x/",
                "retry": {"max_retries": 1, "jitter": False, "spread_by": "moon"},
                "requirements": {"gpu": 1},
                "carbon_budget": 7,
            }
        )
    },
    "newer schedule": {
        **_RECURRING,
        "schedule_version": 1,
        "stamped": 0,
        "recurrence": json.dumps({**_CRON, "blackout": ["2027-01-01"]}),
    },
}
"""Records that look strange and must be handled anyway."""

POISONS: Final[Mapping[str, Mapping[str, Any]]] = {**UNREADABLE, **READABLE}
"""All kinds: the stored fields that each of them changes."""


def poisoned(stored: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the stored fields of a healthy record with the changes of this kind."""
    changed = {**stored, **POISONS[kind]}
    return {name: value for name, value in changed.items() if value is not REMOVE}
