"""A past of the scheduler, lived in virtual time by the real engine, and then written to the file of a server.

The API, the ticks, the queues and the worker are the product's own code. Only the clock and the targets are ours.
"""

import heapq
import itertools
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from onthedot.access.ports import Principal
from onthedot.access.tokens import create_token
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Received
from onthedot.engine import Engine
from onthedot.engines.sqlite.live_queues import LiveQueues
from onthedot.engines.sqlite.memory import MemoryDatabase
from onthedot.engines.sqlite.outlook import SqliteOutlook
from onthedot.testing.scheduler import VirtualScheduler
from onthedot.wiring.sqlite import SqliteEngine
from tests.browser.world.targets import PastTargets
from tests.builders import SERVER

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
_DUE: Final = (2, 9, 80)
"""Milliseconds from the fire time to the start: usual, under load, and rarely."""


@dataclass
class PastApi:
    """The API of the past, as one caller."""

    engine: Engine
    principal: Principal

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        plain, _, query = path.partition("?")
        pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        content = b"" if body is None else json.dumps(body).encode()
        answer = handle(self.engine, Request(method, plain, pairs, {}, content, self.principal))
        return answer.status, answer.body

    def did(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of a call that must succeed."""
        status, answer = self.call(method, path, body)
        assert status < 300, f"{method} {path} answered {status}: {answer}"
        return answer

    def submit(self, **job: Any) -> str:
        return str(self.did("POST", "/v1/jobs", job)["job_id"])


@dataclass
class Past:
    """An engine in memory, its clock, and the plans for its life."""

    clock: VirtualClock
    database: MemoryDatabase
    targets: PastTargets
    scheduler: VirtualScheduler
    chance: random.Random
    _plans: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def now(self) -> int:
        return self.clock.now()

    def api(self, tenant: str, role: str = "admin", name: str = "ci-deploy") -> PastApi:
        return PastApi(self.scheduler.engine, Principal(tenant, role, name))

    def token(self, tenant: str, role: str, name: str) -> str:
        """Return the text of a new token."""
        engine = self.scheduler.engine
        return create_token(engine.tokens, engine.clock, Principal(tenant, role, name))[0]

    def plan(self, instant: int, act: Callable[[], None]) -> None:
        """Do something at this instant of the past."""
        heapq.heappush(self._plans, (max(instant, self.now), next(self._numbers), act))

    def live_until(self, instant: int) -> None:
        """Let time pass. All plans and all due runs happen on the way, each at its time."""
        while self._plans and self._plans[0][0] <= instant:
            at, _, act = heapq.heappop(self._plans)
            self.scheduler.let_pass(max(at, self.now))
            act()
        self.scheduler.let_pass(max(instant, self.now))

    def write(self, file: Path) -> None:
        """Write the past to a new file, which a server can then serve."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with self.database.reading() as memory, closing(sqlite3.connect(file)) as disk:
            memory.backup(disk)

    def delay(self, _: Received) -> None:
        """Let a run start a little after its fire time, as on a machine that has other work."""
        usual, load, rare = _DUE
        kind = self.chance.random()
        most = usual if kind < 0.8 else load if kind < 0.997 else rare
        self.clock.advance(self.chance.lognormvariate(0, 0.6) * most / 1000)


@contextmanager
def a_past(begin: int) -> Iterator[Past]:
    """Open a past that begins at this instant. It is the same in each run of the tests, but for ids and the present."""
    clock = VirtualClock(begin)
    chance = random.Random(7)
    with MemoryDatabase() as database:
        engine = SqliteEngine.on(database, clock, SERVER).engine
        queues = LiveQueues(database, clock)
        targets = PastTargets(clock, chance)
        scheduler = VirtualScheduler(clock, engine, queues, SqliteOutlook(database), targets)
        targets.engine = scheduler.engine
        past = Past(clock, database, targets, scheduler, chance)
        scheduler.before_start = past.delay
        yield past
