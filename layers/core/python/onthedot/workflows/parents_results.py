"""Add the ends of its parents to the payload of a child: the status of each, and its result or a link to it."""

import json
from typing import Any

from onthedot.core import json_text, patience
from onthedot.core.errors import Unavailable
from onthedot.core.ports import RESULT_BYTES, Deadline
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.jobs.contents import result_link


def with_parents(engine: Engine, run: Record, payload: bytes) -> bytes:
    """Return the payload as the target gets it. A job without parents keeps its own. Raise Unavailable."""
    if not run.parents:
        return payload
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    read = engine.store.get_many(list(run.parents), deadline)
    if read.unread:
        raise Unavailable("its parents could not be read in time")
    views: dict[str, Any] = {}
    room = RESULT_BYTES
    for parent_id in run.parents:
        parent = read.found.get(parent_id)
        view = _view(engine, parent_id, parent, room)
        room -= len(view["result"] or "")
        views[_name(run, parent_id, parent)] = view
    return json_text.to_bytes({"payload": json.loads(payload), "parents": views})


def _name(run: Record, parent_id: str, parent: Record | None) -> str:
    """Return the parent's key if both are of one workflow, else its id."""
    same_workflow = parent is not None and parent.workflow is not None and parent.workflow == run.workflow
    return (parent.key if parent is not None and same_workflow else None) or parent_id


def _view(engine: Engine, parent_id: str, parent: Record | None, room: int) -> dict[str, Any]:
    """Return the end of a parent. A parent that expired meanwhile has no status."""
    if parent is None:
        return {"job_id": parent_id, "status": None, "result": None, "result_url": None}
    link = result_link(engine.blobs, parent)
    result = parent.result
    if parent.result_ref is not None and link is None:
        content = engine.blobs.get(parent.result_ref)
        # Where the engine has no links, the results of all parents together may be as long as one result.
        result = content.decode(errors="replace") if content is not None and len(content) <= room else None
    return {"job_id": parent_id, "status": parent.status.value, "result": result, "result_url": link}
