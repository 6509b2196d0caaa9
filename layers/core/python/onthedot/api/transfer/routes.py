"""Routes of the transfer of a stage, for admins: freeze, thaw, export, import, release."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.reading import read_body, read_model, read_no_fields
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.transfer import show
from onthedot.api.transfer.fields import MAX_IMPORT, ExportQuery, FreezeFields, ImportFields, ThawFields
from onthedot.api.transfer.views import ExportView, ImportedView, StageView
from onthedot.domain.transfer.stage_state import StageState
from onthedot.use_cases.transfer import change_stage
from onthedot.use_cases.transfer.export_entries import Selection, export_page, running_page
from onthedot.use_cases.transfer.import_entries import import_page

_PAGES: Final = "export"
"""A cursor is a position in the store. An admin may read all of it, so it needs no secret."""


def show_stage(context: RequestContext) -> StageView:
    """Answer whether the stage is open, frozen or importing."""
    return _view(context, context.engine.stage.fresh())


def freeze(context: RequestContext) -> StageView:
    """Freeze the stage."""
    read_no_fields(context.request.body)
    return _view(context, change_stage.freeze(context.engine))


def thaw(context: RequestContext) -> StageView:
    """Open a frozen stage again."""
    fields = read_body(ThawFields, context.request.body)
    return _view(context, change_stage.thaw(context.engine, force=fields.force))


def export(context: RequestContext) -> ExportView:
    """Answer a page of everything that the stage stores."""
    query = read_model(ExportQuery, context.request.query)
    cursor = open_cursor(_PAGES, query.cursor)
    if query.only is not None:
        page = running_page(context.engine, cursor)
    else:
        chosen = Selection(history=query.history == "true", secrets=query.secrets == "true")
        page = export_page(context.engine, chosen, cursor)
    return show.export_view(page, sign_cursor(_PAGES, page.cursor))


def finish_export(context: RequestContext) -> StageView:
    """Note that the export is whole."""
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.finish_export(context.engine, fields.freeze_id))


def begin_import(context: RequestContext) -> StageView:
    """Close the stage for an import."""
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.begin_import(context.engine, fields.freeze_id))


def import_entries(context: RequestContext) -> ImportedView:
    """Store a page of an export."""
    fields = read_body(ImportFields, context.request.body, MAX_IMPORT)
    imported = import_page(context.engine, fields.freeze_id, fields.entries, dry_run=fields.dry_run)
    return show.imported_view(imported)


def release(context: RequestContext) -> StageView:
    """Open the stage after an import."""
    fields = read_body(FreezeFields, context.request.body)
    return _view(context, change_stage.release(context.engine, fields.freeze_id))


def _view(context: RequestContext, state: StageState) -> StageView:
    return show.stage_view(state, change_stage.settles_in_ms(context.engine, state))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/stage",
        show_stage,
        "Show whether the stage is open, frozen or importing",
        StageView,
        for_admins=True,
    ),
    Route(
        "POST",
        "/v1/stage/freeze",
        freeze,
        "Freeze the stage: nothing starts, and no change is accepted",
        StageView,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/stage/thaw",
        thaw,
        "Open a frozen stage again",
        StageView,
        body=ThawFields,
        body_may_be_left_out=True,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
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
    Route(
        "POST",
        "/v1/export/finish",
        finish_export,
        "Note that all data of a freeze is exported",
        StageView,
        body=FreezeFields,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/import/begin",
        begin_import,
        "Close the stage for an import; nothing starts before its release",
        StageView,
        body=FreezeFields,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/import",
        import_entries,
        "Store a page of an export; entries that are there already stay as they are",
        ImportedView,
        body=ImportFields,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/import/release",
        release,
        "Open the stage when everything is imported",
        StageView,
        body=FreezeFields,
        for_admins=True,
        while_closed=True,
        errors=(400, 409, 413, 422),
    ),
)
