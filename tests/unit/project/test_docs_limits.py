"""Run the commands of docs/limits.md, and check that each recipe does as it says."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Answer
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.start_run import Redeliver, Started, start_run
from tests.unit.api.kit import Api
from tests.unit.project.pages import ROOT, text_of
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving

BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JOB = re.compile(r'"job_id": ?"(\w+)"')


def blocks_of(heading: str) -> list[str]:
    section = text_of("docs/limits.md").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return BLOCK.findall(section)


@dataclass
class Reader:
    """A reader who types the commands of the page, and workers that run the jobs."""

    server: ApiServer
    started: list[Started] = field(default_factory=list)

    def types(self, block: str, **replaced: str) -> str:
        """Run a block of commands. It must succeed. Return the output."""
        block = block.replace(".venv/bin/onthedot", str(Path(sys.executable).parent / "onthedot"))
        for name, value in replaced.items():
            block = block.replace(name, value)
        here = {"URL": self.server.url, "TOKEN": TOKEN}
        environment = {**os.environ, **here, "ONTHEDOT_URL": here["URL"], "ONTHEDOT_TOKEN": here["TOKEN"]}
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert '"error"' not in done.stdout, done.stdout
        return done.stdout

    def submits(self, block: str, **replaced: str) -> str:
        found = JOB.search(self.types(block, **replaced))
        assert found is not None
        return found[1]

    def work(self) -> list[str]:
        """Start whatever may start, as many workers at once would. Return the runs that run now."""
        world = self.server.world
        while True:
            received = world.received()
            if not received:
                return [one.run.run_id for one in self.started]
            for one in received:
                start = start_run(world.engine, one.message, "w")
                while isinstance(start, Redeliver):
                    world.clock.advance(start.after_ms / 1000)
                    start = start_run(world.engine, one.message, "w")
                world.queues.delete(one)
                self.started += [start] if isinstance(start, Started) else []

    def finish(self) -> None:
        """End the attempt that started first."""
        first = self.started.pop(0)
        finish_run(self.server.world.engine, first.run, first.definition, Answer(ok=True), chance=random.Random(1))

    def stored(self, job_id: str) -> Record:
        run = self.server.world.store.get(job_id)
        assert run is not None
        return run

    def explained(self, job_id: str) -> tuple[str, str]:
        reason = Api(self.server.world).get(f"/v1/jobs/{job_id}/explain").body["reasons"][0]
        return reason["code"], reason["message"]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setattr("onthedot.use_cases.gates.change_limits.IN_FORCE_MS", 1)
    with a_passing_world() as world, serving(world) as server:
        yield Reader(server)


def test_the_recipe_that_protects_an_api(reader: Reader) -> None:
    make, submit, pause_and_resume = blocks_of("Protect an API")
    assert "5 at a time, 10 a second" in reader.types(make)
    jobs = [reader.submits(submit) for _ in range(7)]
    assert len(reader.work()) == 5
    last = next(job for job in jobs if reader.stored(job).status is Status.PENDING)
    assert reader.explained(last)[0] == "waits_at_gate"
    [explain] = blocks_of("Why does it wait?")
    assert "5 of 5 places are in use" in reader.types(explain, JOB_ID=last)
    pause, show, resume = pause_and_resume.splitlines()
    reader.types(pause)
    reader.finish()
    assert len(reader.work()) == 4, "nothing starts"
    code, message = reader.explained(last)
    assert code == "gate_stopped"
    assert "change this with `onthedot gates resume stripe`" in message
    assert "stripe" in reader.types(show)
    reader.types(resume)
    assert len(reader.work()) == 5
    while reader.started:
        reader.finish()
        reader.work()
    assert {reader.stored(job).status for job in jobs} == {Status.SUCCEEDED}


def test_the_recipe_for_one_at_a_time_of_each_customer(reader: Reader) -> None:
    make, submit, show = blocks_of("One at a time for each customer")
    reader.types(make)
    first, second = reader.submits(submit), reader.submits(submit)
    other = reader.submits(submit.replace("42", "43"))
    running = reader.work()
    assert len(running) == 2
    assert other in running, "another customer does not wait"
    assert "customer:42" in reader.types(show)
    waiting = second if first in running else first
    assert reader.explained(waiting)[1].startswith("waits at gate customer, key 42: 1 of 1 place is in use")
    while reader.started:
        reader.finish()
        reader.work()
    assert {reader.stored(job).status for job in (first, second, other)} == {Status.SUCCEEDED}


def test_the_recipe_that_stops_a_tenant(reader: Reader) -> None:
    [submit] = [block for block in blocks_of("Protect an API") if "/v1/jobs" in block]
    submit = submit.replace(', "gates": ["stripe"]', "")
    running = reader.submits(submit)
    assert reader.work() == [running]
    stop, show_and_clear = blocks_of("Stop a tenant now")
    reader.types(stop)
    jobs = [reader.submits(submit) for _ in range(3)]
    assert reader.work() == [running], "it goes on, and no other starts"
    code, message = reader.explained(jobs[0])
    assert code == "gate_stopped"
    assert "an admin can change this with `onthedot limits clear acme`" in message
    reader.finish()
    assert reader.work() == []
    show, clear = show_and_clear.splitlines()
    assert "acme" in reader.types(show)
    reader.types(clear)
    assert sorted(reader.work()) == sorted(jobs)


def test_every_command_of_the_page_is_in_a_recipe_that_is_run() -> None:
    run = ["Protect an API", "One at a time for each customer", "Stop a tenant now", "Why does it wait?"]
    recipes = [block for heading in run for block in blocks_of(heading)]
    page = text_of("docs/limits.md").split("\n## Reference\n")[0]
    assert BLOCK.findall(page) == recipes
