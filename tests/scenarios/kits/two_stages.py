"""Two stages in one process and in one virtual time, and the commands that move the data of one to the other."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
import pytest
from click.testing import CliRunner, Result

from onthedot.api.http import Response
from onthedot.cli import options
from onthedot.cli.documents import Calls
from onthedot.cli.main import main
from onthedot.cli.operations import transfer
from onthedot.client.requests import Operation
from onthedot.core.slots import BUCKET_MS
from onthedot.engines.sqlite.database import Database
from tests.builders import DEPLOYMENT, VirtualClock, World
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

SOURCE, DESTINATION = "http://source", "http://destination"
ONE_SHARD = replace(DEPLOYMENT, shards=1)
FOUR_SHARDS = replace(DEPLOYMENT, shards=4)


@dataclass
class TwoStages:
    """A stage with jobs, and an empty one with another number of shards. Both have ticks and workers all the time."""

    source: Simulation
    destination: Simulation
    folder: Path
    calls: list[str] = field(default_factory=list)
    """All calls of the commands, in order."""
    dies_at: int | None = None
    """The number of the call before which the command dies."""
    loses: int | None = None
    """The number of the POST that has its effect, and whose reply the command does not live to see."""

    @property
    def clock(self) -> VirtualClock:
        return self.source.clock

    @property
    def file(self) -> Path:
        return self.folder / "jobs.jsonl"

    @property
    def changes(self) -> list[str]:
        """All calls of the commands that may change something."""
        return [call for call in self.calls if call.startswith("POST")]

    def api(self, url: str = SOURCE) -> Api:
        return Api((self.source if url == SOURCE else self.destination).world)

    def call(self, url: str, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        self.calls.append(f"{method} {path}")
        if len(self.calls) - 1 == self.dies_at:
            raise Crash(self.calls[-1])
        response = self._answer(url, method, path, body)
        if method == "POST" and len(self.changes) - 1 == self.loses:
            raise Crash(self.calls[-1])
        if response.status >= 300:
            raise click.ClickException(f"{response.status} {response.body['error']['message']}")
        return json.loads(response.text)

    def _answer(self, url: str, method: str, path: str, body: Mapping[str, Any] | None) -> Response:
        return self.api(url).get(path) if method == "GET" else self.api(url).send(method, path, **(body or {}))

    def let_pass(self, seconds: float) -> None:
        """Time passes in both stages: ticks each minute, and workers."""
        until = self.clock.now() + round(seconds * 1000)
        while True:
            for stage in (self.source, self.destination):
                stage.dispatch()
                stage.work()
            before = self.clock.now()
            if before >= until:
                return
            self.clock.sleep_until(before - before % 1000 + 1000)
            if before // BUCKET_MS != self.clock.now() // BUCKET_MS:
                self.source.plan_ticks()
                self.destination.plan_ticks()

    def command(self, *arguments: str) -> Result:
        """Give a command, which must succeed."""
        result = self.try_command(*arguments)
        assert result.exit_code == 0, result.output
        return result

    def try_command(self, *arguments: str) -> Result:
        url = DESTINATION if arguments[0] == "import" else SOURCE
        result = CliRunner().invoke(main, [*arguments, "--url", url, "--token", "x"])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def move(self) -> None:
        """Give the commands that move everything. They may die at one call."""
        self.command("export", "--freeze", "--with-secrets", "--force", str(self.file))
        self.command("import", "--release", str(self.file))

    def called(self) -> Counter[str]:
        """How often each run was called, in both stages."""
        return Counter(run_id for stage in (self.source, self.destination) for run_id, _, _ in stage.target.calls)


@dataclass
class _Calls(Calls):
    """The calls of a command, without HTTP."""

    stages: TwoStages
    url: str

    def ask(self, operation: Operation[Any], missing: str | None = None, *, job: str | None = None) -> Any:
        path = f"{operation.path}?{urlencode(operation.query)}" if operation.query else operation.path
        return self.stages.call(self.url, operation.method, path, operation.body)


@dataclass
class _Time:
    """The module `time` for commands: sleeping lets time pass in both stages."""

    stages: TwoStages

    def sleep(self, seconds: float) -> None:
        self.stages.let_pass(seconds)

    def monotonic(self) -> float:
        return self.stages.clock.now() / 1000


@contextmanager
def two_stages(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[TwoStages]:
    clock = VirtualClock()
    with Database() as first, Database() as second:
        source, destination = World.on(first, clock, ONE_SHARD, 10), World.on(second, clock, FOUR_SHARDS, 10)
        stages = TwoStages(Simulation(source), Simulation(destination), folder)
        patch.setattr(options, "Documents", lambda url, _token: _Calls(stages, url))
        patch.setattr(transfer, "time", _Time(stages))
        # Pages are small, so that a move can die between any two of them. Waits are few.
        patch.setattr("onthedot.transfer.export.PAGE", 4)
        patch.setattr(transfer, "PAGE", 4)
        patch.setattr(transfer, "MAX_WAIT_SECONDS", 60.0)
        yield stages
