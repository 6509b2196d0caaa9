"""Measure how long it takes to find jobs on `onthedot serve` with a million of them: by REST, and by `onthedot list`.

A file is filled with copies that SQLite itself makes. Each recurring job has ended runs, whose outcomes a list shows.
"""

import argparse
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from benchmarks.common import Bar, console, finish, one_off, recurring, show
from benchmarks.peers.running import program
from benchmarks.peers.stores import await_port
from benchmarks.stored_jobs import DAY_MS, copy_rows, sql_of_a_copy
from localstack.ministack_process import free_port
from onthedot.core.clock import SystemClock
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.engines.sqlite.database import Database
from onthedot.jobs.run_extra import run_now
from onthedot.jobs.submit import submit_job
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import server_deployment
from onthedot.wiring.sqlite import SqliteEngine

ONE_OFF: Final = 1_000_000
RECURRING: Final = 5_000
RUNS_OF_EACH: Final = 20
ROUNDS: Final = 15
TENANT: Final = "local"
"""The tenant of the token of `onthedot serve`."""
TOKEN: Final = "lists-benchmark-token"  # noqa: S105 # of a server on loopback that lives for a minute
FIRST_PAGE: Final = "first page of all jobs"
BY_PREFIX: Final = "recurring jobs by name prefix"
COMMAND: Final = "onthedot list --json, whole process"
TABLE: Final = "onthedot list on a terminal, whole process"


def fill(path: Path, one_offs: int, recurrings: int) -> None:
    """Store the jobs, and the ended runs of each recurring one."""
    with Database(path) as database:
        deployment = server_deployment(["http"], AllowList(), cpus=2, memory_mb=1024)
        engine = SqliteEngine.on(database, SystemClock(), deployment).engine
        tomorrow = engine.clock.now() + DAY_MS
        once, again = (submit_job(engine, TENANT, job) for job in (one_off(tomorrow), recurring(1, tomorrow)))
        run = run_now(engine, TENANT, again.job_id)
        shards = deployment.shards
        copy_rows(database, once, 0, one_offs, {**sql_of_a_copy(shards), "definition": _named("remind")})
        copy_rows(database, again, one_offs, recurrings, {**sql_of_a_copy(shards), "definition": _named("report")})
        _copy_runs(database, engine, run, one_offs, recurrings)


def _named(prefix: str) -> str:
    return f"json_set(definition, '$.name', printf('{prefix}-%07d', i))"


def _copy_runs(database: Database, engine: Engine, run: Record, first: int, jobs: int) -> None:
    """Copy one run as the ended runs of each recurring job, one an hour."""
    ended = f"({engine.clock.now()} - (i % {RUNS_OF_EACH}) * 3600000)"
    job_id = sql_of_a_copy(1, number=f"({first} + i / {RUNS_OF_EACH})")["job_id"]
    changed = {
        "run_id": f"{job_id} || printf('.%015d', {ended})",
        "job_id": job_id,
        "status": "'SUCCEEDED'",
        "slot": "NULL",
        **dict.fromkeys(("created_at", "nominal_at", "fire_at", "started_at", "finished_at"), ended),
    }
    copy_rows(database, run, 0, jobs * RUNS_OF_EACH, changed)


@contextmanager
def serving(folder: Path, data: Path) -> Iterator[str]:
    """Run `onthedot serve` on the file, and give its URL."""
    port = free_port()
    command = [sys.executable, "-m", "onthedot.cli.main", "serve", "--data", str(data), "--port", str(port)]
    with program([*command, "--token", TOKEN], folder / "log", env={"ONTHEDOT_HOME": str(folder)}) as running:
        await_port(running, port)
        yield f"http://127.0.0.1:{port}"


def milliseconds(action: Callable[[], Any]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def page(pool: urllib3.PoolManager, url: str, least: int, **query: str) -> None:
    """Read a page. Fail when it has fewer jobs than it must have."""
    reply = pool.request("GET", f"{url}/v1/jobs?{urlencode(query)}", headers={"Authorization": f"Bearer {TOKEN}"})
    assert reply.status == 200, reply.data
    assert len(reply.json()["jobs"]) >= least


def command(url: str) -> None:
    """Run `onthedot list` as a user does, from the start of its process to its end."""
    program = Path(sys.executable).with_name("onthedot")
    env = {**os.environ, "ONTHEDOT_URL": url, "ONTHEDOT_TOKEN": TOKEN}
    done = subprocess.run([program, "list", "--json"], env=env, capture_output=True, text=True, check=True)
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 20


def command_on_a_terminal(url: str) -> None:
    """Run `onthedot list` as a person does, on a terminal of 120 columns."""
    program = str(Path(sys.executable).with_name("onthedot"))
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(ONTHEDOT_URL=url, ONTHEDOT_TOKEN=TOKEN, COLUMNS="120")
        os.execv(program, [program, "list"])  # noqa: S606 - the command that is measured, on a terminal
    shown = b""
    # Linux ends the terminal of a process that has ended with an error.
    with suppress(OSError):
        while part := os.read(terminal, 65_536):
            shown += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    assert shown.count(b"\n") == 1 + 20 + 1, "a header, the jobs, and the next command"


def measure(url: str, recurrings: int, one_offs: int, rounds: int) -> dict[str, list[float]]:
    """Measure each of the four in turns, and give the times of all rounds."""
    pool = urllib3.PoolManager()
    name = f"report-{one_offs + recurrings // 2:07d}"
    subjects: dict[str, Callable[[], None]] = {
        FIRST_PAGE: lambda: page(pool, url, 20),
        BY_PREFIX: lambda: page(pool, url, 1, kind="recurring", name=name[:-1]),
        COMMAND: lambda: command(url),
        TABLE: lambda: command_on_a_terminal(url),
    }
    for warm in subjects.values():
        warm()
    times: dict[str, list[float]] = {subject: [] for subject in subjects}
    for _ in range(rounds):
        for subject, action in subjects.items():
            times[subject].append(milliseconds(action))
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=ONE_OFF)
    parser.add_argument("--recurring", type=int, default=RECURRING)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "lists.db"
        console.print(f"[dim]fill took {milliseconds(lambda: fill(data, chosen.jobs, chosen.recurring)):,.0f} ms[/]")
        with serving(folder, data) as url:
            times = measure(url, chosen.recurring, chosen.jobs, chosen.rounds)
        megabytes = data.stat().st_size / 1e6
    rows = [[subject, min(ones), statistics.median(ones), max(ones)] for subject, ones in times.items()]
    show(f"{chosen.jobs:,} one-off and {chosen.recurring:,} recurring jobs", ["", "least ms", "median", "most"], rows)
    bars = [
        Bar(subject, statistics.median(times[subject]), at_most, "ms")
        for subject, at_most in ((FIRST_PAGE, 300), (BY_PREFIX, 200), (COMMAND, 400), (TABLE, 400))
    ]
    return finish("lists", {"milliseconds": times, "jobs": chosen.jobs, "megabytes": megabytes}, bars)


if __name__ == "__main__":
    sys.exit(main())
