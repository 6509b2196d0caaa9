"""Models of the requests about the transfer of a stage."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from onthedot.api.core.cursors import MAX_CURSOR
from onthedot.api.core.fields import Fields
from onthedot.domain.transfer.stage_state import LONGEST_FREEZE_ID

MAX_IMPORT: Final = 5 * 1024 * 1024
"""Most bytes of a page of an import. Lambda takes 6 MB at most."""
MOST_ENTRIES: Final = 1_000

FreezeId = Annotated[
    str, Field(min_length=1, max_length=LONGEST_FREEZE_ID, description="the freeze, as the header of the export has it")
]
Flag = Annotated[Literal["true", "false"], Field()]


class ThawFields(Fields):
    """A thaw of a frozen stage."""

    force: Annotated[bool, Field(description="also after an export, if no other stage has released it (false)")] = False


class FreezeFields(Fields):
    """The freeze that a call is about."""

    freeze_id: FreezeId


class ImportFields(FreezeFields):
    """One page of an import."""

    entries: Annotated[
        list[Any], Field(max_length=MOST_ENTRIES, description="lines of the export, as they are in the file")
    ]
    dry_run: Annotated[bool, Field(description="store nothing, and answer what would happen (false)")] = False


class ExportQuery(Fields):
    """The query of an export."""

    history: Annotated[Flag, Field(description="with old ended runs (false)")] = "false"
    secrets: Annotated[Flag, Field(description="with hashes of tokens and with signing keys (false)")] = "false"
    only: Annotated[
        Literal["running"] | None, Field(description="no entries, only the ids of runs whose attempts are alive")
    ] = None
    cursor: Annotated[str | None, Field(max_length=MAX_CURSOR, description="next_cursor of the page before")] = None
