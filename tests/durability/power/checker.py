"""Open the files that a loss of power left, and name their faults."""

import shutil
from pathlib import Path
from typing import Any

from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.durability.power.images import Image
from tests.durability.power.workload import Recording, digest

_LIVE = frozenset({Status.PENDING, Status.DISPATCHED, Status.RUNNING})


def fault_of(image: Image, recording: Recording, folder: Path) -> str | None:
    """Return the fault of an image, or None. The product itself opens the files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "image.db"
    for name, content in image.files.items():
        if content is not None:
            Path(f"{path}{name}").write_bytes(content)
    try:
        with Database(path) as database:
            found = _fault_in(database, image, recording)
    except Exception as error:  # noqa: BLE001 - any error is a fault
        found = f"cannot be read: {error!r}"
    return None if found is None else f"power lost after event {image.position} ({image.loss}): {found}"


def _fault_in(database: Database, image: Image, recording: Recording) -> str | None:
    with database.reading() as connection:
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
        state = digest(connection.execute)
    if integrity != "ok":
        return f"integrity_check: {integrity}"
    states = recording.states[image.acknowledged : image.possible + 1]
    if state not in states:
        where = recording.states.index(state) if state in recording.states else "no commit"
        return f"has the state after {where}, but commit {image.acknowledged} was acknowledged"
    return _fault_of_runs(database)


def _fault_of_runs(database: Database) -> str | None:
    """Check that each record can be read, and that each live run is in exactly one slot."""
    clock = VirtualClock()
    store = SqliteRunStore(database, clock)
    with database.reading() as connection:
        ids = [row[0] for row in connection.execute("SELECT run_id FROM runs")]
        slots: list[Any] = [row[0] for row in connection.execute("SELECT DISTINCT slot FROM runs WHERE slot NOT NULL")]
    read = store.get_many(ids, Deadline.after(clock.now(), 60_000))
    entries = sorted(entry.run_id for slot in slots for entry in store.read_slot(slot).items)
    live = sorted(run.run_id for run in read.found.values() if run.status in _LIVE)
    if len(read.found) != len(ids):
        return f"unreadable records: {sorted(set(ids) - set(read.found))}"
    return None if entries == live else f"live runs {live} have the slot entries {entries}"
