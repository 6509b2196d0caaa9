"""Show the state of the stage, and pages of exports and imports."""

import onthedot
from onthedot.api.core.times import show_time
from onthedot.api.transfer.views import ExportView, ImportedView, StageView
from onthedot.domain.transfer.entries import to_json
from onthedot.domain.transfer.stage_state import StageState
from onthedot.use_cases.transfer.export_entries import ExportedPage
from onthedot.use_cases.transfer.import_entries import Imported


def stage_view(state: StageState, settles_in_ms: int) -> StageView:
    return {
        "mode": state.mode.value,
        "freeze_id": state.freeze_id,
        "since": show_time(state.since or None),
        "exported_at": show_time(state.exported_at),
        "released": state.released,
        "settles_in_ms": settles_in_ms,
        "version": onthedot.__version__,
    }


def export_view(page: ExportedPage, next_cursor: str | None) -> ExportView:
    return {
        "entries": [to_json(entry) for entry in page.entries],
        "running": page.running,
        "next_cursor": next_cursor,
        "read": page.read,
        "about_total": page.total,
    }


def imported_view(imported: Imported) -> ImportedView:
    return {
        "created": imported.created,
        "present": imported.present,
        "refused": [{"kind": one.kind, "id": one.id, "why": one.why} for one in imported.refused],
        "unknown_pools": sorted(imported.unknown_pools),
    }
