"""The transfer of a stage, for admins: freeze, thaw, export, import, release."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

import onthedot
from onthedot.api.fields import Fields
from onthedot.api.lists import MAX_CURSOR, open_cursor, sign_cursor
from onthedot.api.reading import read_body, read_model, read_no_fields
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.transfer import change_stage
from onthedot.transfer.entries import to_json
from onthedot.transfer.export import Selection, export_page, running_page
from onthedot.transfer.import_ import import_page
from onthedot.transfer.stage_state import LONGEST_FREEZE_ID, StageState

MAX_IMPORT: Final = 5 * 1024 * 1024
"""The most bytes of a page of an import. Lambda takes 6 MB at most."""
MOST_ENTRIES: Final = 1_000

FreezeId = Annotated[
    str, Field(min_length=1, max_length=LONGEST_FREEZE_ID, description="the freeze, as in the header of the export")
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
        list[Any], Field(max_length=MOST_ENTRIES, description="lines of the export, exactly as in the file")
    ]
    dry_run: Annotated[bool, Field(description="store nothing, and answer what would happen (false)")] = False


class ExportQuery(Fields):
    """The query of an export."""

    history: Annotated[Flag, Field(description="with old ended runs (false)")] = "false"
    secrets: Annotated[Flag, Field(description="with hashes of tokens and with signing keys (false)")] = "false"
    only: Annotated[
        Literal["running"] | None, Field(description="no entries, only the ids of runs whose attempts are alive")
    ] = None
    cursor: Annotated[str | None, Field(max_length=MAX_CURSOR, description="next_cursor of the previous page")] = None


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


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
    refused: list[RefusalView]
    unknown_pools: list[str]


_PAGES: Final = "export"
"""A cursor is a position in the store. An admin may read all of it, so it needs no secret."""


def show_stage(context: RequestContext) -> StageView:
    return _view(context, context.engine.stage.fresh())


def freeze(context: RequestContext) -> StageView:
    read_no_fields(context.request.body)
    return _view(context, change_stage.freeze(context.engine))


def thaw(context: RequestContext) -> StageView:
    fields = read_body(ThawFields, context.request.body)
    return _view(context, change_stage.thaw(context.engine, force=fields.force))


def export(context: RequestContext) -> ExportView:
    query = read_model(ExportQuery, context.request.query)
    cursor = open_cursor(_PAGES, query.cursor)
    if query.only is not None:
        page = running_page(context.engine, cursor)
    else:
        chosen = Selection(history=query.history == "true", secrets=query.secrets == "true")
        page = export_page(context.engine, chosen, cursor)
    return {
        "entries": [to_json(entry) for entry in page.entries],
        "running": page.running,
        "next_cursor": sign_cursor(_PAGES, page.cursor),
        "read": page.read,
        "about_total": page.total,
    }


def finish_export(context: RequestContext) -> StageView:
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.finish_export(context.engine, fields.freeze_id))


def begin_import(context: RequestContext) -> StageView:
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.begin_import(context.engine, fields.freeze_id))


def import_entries(context: RequestContext) -> ImportedView:
    fields = read_body(ImportFields, context.request.body, MAX_IMPORT)
    imported = import_page(context.engine, fields.freeze_id, fields.entries, dry_run=fields.dry_run)
    return {
        "created": imported.created,
        "present": imported.present,
        "refused": [{"kind": one.kind, "id": one.id, "why": one.why} for one in imported.refused],
        "unknown_pools": sorted(imported.unknown_pools),
    }


def release(context: RequestContext) -> StageView:
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.release(context.engine, fields.freeze_id))


def _view(context: RequestContext, state: StageState) -> StageView:
    return {
        "mode": state.mode.value,
        "freeze_id": state.freeze_id,
        "since": show_time(state.since or None),
        "exported_at": show_time(state.exported_at),
        "released": state.released,
        "settles_in_ms": change_stage.settles_in_ms(context.engine, state),
        "version": onthedot.__version__,
    }


def _change(path: str, action: Callable[[RequestContext], Any], summary: str, answer: Any, **how: Any) -> Route:
    return Route(
        "POST",
        f"/v1/{path}",
        action,
        summary,
        answer,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
        **how,
    )


ROUTES: Final = (
    Route(
        "GET",
        "/v1/stage",
        show_stage,
        "Show whether the stage is open, frozen or importing",
        StageView,
        for_admins=True,
    ),
    _change("stage/freeze", freeze, "Freeze the stage: nothing starts, and no change is accepted", StageView),
    _change("stage/thaw", thaw, "Open a frozen stage again", StageView, body=ThawFields, body_may_be_left_out=True),
    Route(
        "GET",
        "/v1/export",
        export,
        "Get a page of everything that the stage stores, all tenants included",
        ExportView,
        query=ExportQuery,
        for_admins=True,
        errors=(422,),
    ),
    _change("export/finish", finish_export, "Note that all data of a freeze is exported", StageView, body=FreezeFields),
    _change(
        "import/begin",
        begin_import,
        "Close the stage for an import; nothing starts before its release",
        StageView,
        body=FreezeFields,
    ),
    _change(
        "import",
        import_entries,
        "Store a page of an export; entries that are there already stay as they are",
        ImportedView,
        body=ImportFields,
    ),
    _change("import/release", release, "Open the stage when everything is imported", StageView, body=FreezeFields),
)
