"""Types of the answers about the transfer of a stage."""

from typing import Any

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class StageView(TypedDict):
    """The state of the stage."""

    mode: str
    """`open`, `frozen` or `importing`."""
    freeze_id: str | None
    since: str | None
    exported_at: str | None
    released: str | None
    """The freeze whose data was imported and released last."""
    settles_in_ms: int
    """How long it takes until all parts follow the state."""
    version: str


class ExportView(TypedDict):
    """One page of an export. Send `next_cursor` as `cursor` to get the next page, also after a page without entries."""

    entries: list[dict[str, Any]]
    running: list[str]
    """The runs of this page whose attempts are alive."""
    next_cursor: str | None
    read: int
    """How many stored things were read for this page. Not each one is an entry."""
    about_total: int | None
    """About how many stored things all pages read together. Null if it is not known, and after the first page."""


class RefusalView(TypedDict):
    """An entry that was not imported."""

    kind: str
    id: str
    why: str


class ImportedView(TypedDict):
    """The result of one page of an import."""

    created: int
    present: int
    """Entries that were there already."""
    refused: list[RefusalView]
    unknown_pools: list[str]
    """Pools of imported runs that this stage does not have."""
