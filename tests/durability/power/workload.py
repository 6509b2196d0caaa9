"""A busy hour of the embedded engine, recorded: jobs are created, claimed, started and finished by shared commits."""

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.clock import VirtualClock
from onthedot.core.finish import finish_run
from onthedot.core.ports import Answer, Deadline, Tick
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.core.start import Started, start_run
from onthedot.core.tick import dispatch_due
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.group_commit import GroupCommit
from onthedot.wiring.embedded import Embedded, embedded
from tests.builders import SERVER
from tests.durability.power.apsw_connection import Rewrite, connect_by_apsw
from tests.durability.power.recording import Acknowledged, Committed, Log, RecordingVfs

LOG_PAGES: Final = 60
"""The write-ahead log is moved into the file after so many pages, not 1,000: a short workload must see it often."""
_USER: Final = Principal("acme", "admin", "ada")
_DIGESTED: Final = ("runs", "blobs", "items")


@dataclass
class Recording:
    """The log of a workload, and a digest of the tables after each commit."""

    log: Log
    states: list[str] = field(default_factory=list)


def digest(execute: Callable[[str], Any]) -> str:
    """Return a digest of all rows that the workload writes."""
    found = hashlib.sha256()
    for table in _DIGESTED:
        rows = execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        found.update(repr([tuple(row) for row in rows]).encode())
    return found.hexdigest()


class EarlyReports(GroupCommit):
    """A writer with a planted fault: it reports an operation before the commit."""

    def submit(self, do: Callable[[], Any], done: Any) -> None:
        def did() -> Any:
            result = do()
            done(result, None)
            return result

        super().submit(did, lambda result, error: None)


def record(
    folder: Path, seed: int, groups: int, rewrite: Rewrite = lambda text: text, writer: type[GroupCommit] = GroupCommit
) -> Recording:
    """Play a workload on a new file, and record it. The folder is used once."""
    log = Log(folder / "recorded.db")
    vfs = RecordingVfs(log)
    recording = Recording(log)
    database = Database(log.path, connect_by_apsw(rewrite))
    try:
        connection: Any = database._connection
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        recording.states.append(digest(connection.execute))
        _Play(recording, database, random.Random(seed), writer).play(groups)
    finally:
        # This moves the log into the file, and is recorded too.
        database.close()
        vfs.unregister()
    return recording


class _Play:
    """The operations of one workload. All of them run in the writer thread."""

    def __init__(
        self, recording: Recording, database: Database, chance: random.Random, writer: type[GroupCommit]
    ) -> None:
        self._recording, self._database, self._chance = recording, database, chance
        self._clock = VirtualClock()
        self._parts: Embedded = embedded(database, self._clock, SERVER)
        self._parts.writer.close()
        self._writer = writer(database)
        self._started: list[Started] = []
        self._number = 0
        self._is_new = False

    def play(self, groups: int) -> None:
        operations = (self._create, self._create, self._start, self._finish, self._tick)
        for _ in range(groups):
            # All of them are there before the writer begins its transaction, so they share a commit.
            with self._database._lock:
                for _ in range(self._chance.randint(1, 6)):
                    self._submit(self._chance.choice(operations))
            self._writer.run(lambda: None)
            self._clock.advance(self._chance.choice((0, 0.5, 30, 61)))
        self._writer.close()

    def _submit(self, operation: Callable[[], object]) -> None:
        def do() -> int:
            self._is_new = True
            self._database.after_commit(self._note_commit)
            operation()
            return len(self._recording.states)

        def done(number: int, error: BaseException | None) -> None:
            if error is not None:
                raise error
            self._recording.log.events.append(Acknowledged(number))

        self._writer.submit(do, done)

    def _note_commit(self) -> None:
        """Note the state after a commit, for the first operation of the group."""
        if self._is_new:
            self._is_new = False
            connection: Any = self._database._connection
            self._recording.states.append(digest(connection.execute))
            self._recording.log.events.append(Committed(len(self._recording.states) - 1))

    def _create(self) -> None:
        self._number += 1
        delay = self._chance.choice((0, 1, 30, 300, 3_000))
        payload = {"text": "x" * self._chance.choice((1, 100, 3_000, 20_000))}
        body = {"callback_url": f"http://127.0.0.1:9/{self._number}", "delay": delay, "payload": payload}
        request = Request("POST", "/v1/jobs", body=json.dumps(body).encode(), principal=_USER)
        response = handle(self._parts.engine, request)
        assert response.status == 202, response.body

    def _start(self) -> None:
        for priority in PRIORITIES:
            for received in self._parts.queues.receive(DEFAULT_POOL, priority, 3, visibility_ms=60_000):
                verdict = start_run(self._parts.engine, received.message, "serve-1", near_ms=0)
                self._parts.queues.delete(received)
                if isinstance(verdict, Started):
                    self._started.append(verdict)

    def _finish(self) -> None:
        if self._started:
            started = self._started.pop(self._chance.randrange(len(self._started)))
            answer = Answer(ok=self._chance.random() < 0.7, result="fine", error=None)
            finish_run(self._parts.engine, started.run, started.definition, answer, chance=self._chance, patience_ms=0)

    def _tick(self) -> None:
        now = self._clock.now()
        tick = Tick(0, (0,), now, f"tick-{self._number}-{now}")
        dispatch_due(self._parts.engine, self._parts.progress, tick, Deadline.after(now, 50_000))
