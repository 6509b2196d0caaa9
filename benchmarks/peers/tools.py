"""The tools of the benchmark: which store each one uses, and the commands of its client and its worker."""

import json
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.peers.environments import APT_LINE, find, node, node_modules, python
from benchmarks.peers.programs.calls import NOTES, STORE
from benchmarks.peers.running import Program, program
from benchmarks.peers.stores import POSTGRESQL, REDIS, REDIS_SYNCED, SERVE, STORES, Open, serve

ONTHEDOT: Final = "onthedot serve"
BULLMQ: Final = "BullMQ"
ANSWER_SECONDS: Final = 300
_PROGRAMS: Final = "benchmarks.peers.programs"
_BULLMQ_PROGRAM: Final = str(Path(__file__).parent / "programs" / "bullmq_program.cjs")


Command = Callable[[], list[str]]
"""Return a command, and install its packages first where they are missing."""


@dataclass(frozen=True)
class Tool:
    name: str
    store: str
    client: Command
    worker: Command | None = None
    """Without it, the process of the client (APScheduler) or of the store (onthedot) runs the jobs."""
    settings: str = ""
    """Settings other than the default that make the tool faster, empty for the default ones."""

    @property
    def is_default(self) -> bool:
        return not self.settings

    @property
    def row(self) -> str:
        if self.store == SERVE:
            return self.name
        return f"{self.name} ({', '.join(filter(None, [self.store, self.settings]))})"


def _python(module: str, *arguments: str) -> Command:
    return lambda: [python(), "-m", f"{_PROGRAMS}.{module}", *arguments]


def _celery_worker() -> list[str]:
    app = f"{_PROGRAMS}.celery_program"
    return [python(), "-m", "celery", "-A", app, "worker", "--concurrency", "1", "--loglevel", "WARNING"]


def _huey_worker() -> list[str]:
    return [python(), "-m", "huey.bin.huey_consumer", f"{_PROGRAMS}.huey_program.huey", "--quiet"]


def _bullmq(*arguments: str) -> Command:
    return lambda: ["env", f"NODE_PATH={node_modules()}", node(), _BULLMQ_PROGRAM, *arguments]


def _on_redis(name: str, client: Command, worker: Command) -> tuple[Tool, Tool]:
    return (Tool(name, REDIS_SYNCED, client, worker), Tool(name, REDIS, client, worker))


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(ONTHEDOT, SERVE, lambda: [sys.executable, "-m", f"{_PROGRAMS}.onthedot_program"]),
    *_on_redis(BULLMQ, _bullmq("client"), _bullmq("worker", "1")),
    Tool(BULLMQ, REDIS_SYNCED, _bullmq("client"), _bullmq("worker", "50"), "concurrency 50"),
    *_on_redis("Celery", _python("celery_program"), _celery_worker),
    *_on_redis("huey", _python("huey_program"), _huey_worker),
    Tool("APScheduler", POSTGRESQL, _python("apscheduler_program")),
    Tool(
        "Procrastinate", POSTGRESQL, _python("procrastinate_program"), _python("procrastinate_program", "worker", "1")
    ),
)


def missing(tool: Tool) -> str | None:
    """Return why the tool cannot be measured on this machine, None when it can."""
    needed = ([] if tool.store == SERVE else [STORES[tool.store][0]]) + (["node", "npm"] if tool.name == BULLMQ else [])
    absent = [name for name in needed if find(name) is None]
    return f"{', '.join(absent)} not found; on Debian: {APT_LINE}" if absent else None


@dataclass(frozen=True)
class Subject:
    client: Program
    worker: Program
    store: Program | None
    notes: Path

    @property
    def programs(self) -> list[Program]:
        """Return each of its processes once."""
        return list({id(each): each for each in (self.client, self.worker, self.store) if each}.values())

    @property
    def synced(self) -> Program:
        """Return the process that writes to disk."""
        return self.store or self.worker

    def create(self, first: int, due: Sequence[int], callers: int) -> dict[str, float]:
        """Have the client create a job for each due time, and return the client's own measurements."""
        assert self.client.process.stdin is not None
        self.client.process.stdin.write(json.dumps({"first": first, "due": list(due), "callers": callers}) + "\n")
        self.client.process.stdin.flush()
        answer: dict[str, float] = json.loads(_line(self.client))
        return answer


@contextmanager
def running(tool: Tool, folder: Path, *, traced: bool = False) -> Iterator[Subject]:
    """Start the store, the client and the worker of a tool, and stop them at the end."""
    opens: Open = serve if tool.store == SERVE else STORES[tool.store][1]
    notes = folder / "notes"
    notes.touch()
    with ExitStack() as stack:
        store = stack.enter_context(opens(folder, traced=traced))
        env = {STORE: store.url, NOTES: str(notes)}
        client = stack.enter_context(program(tool.client(), folder / "client.log", env=env, pipes=True))
        _line(client)
        if tool.worker:
            worker = stack.enter_context(program(tool.worker(), folder / "worker.log", env=env))
            yield Subject(client, worker, store.program, notes)
        elif tool.store == SERVE:
            yield Subject(client, store.program, None, notes)
        else:
            yield Subject(client, client, store.program, notes)


def _line(client: Program) -> str:
    """Read a line of the client. Raise RuntimeError when it has ended or does not answer."""
    stdout = client.process.stdout
    assert stdout is not None
    ready, _, _ = select.select([stdout], [], [], ANSWER_SECONDS)
    line: str = stdout.readline() if ready else ""
    if not line:
        raise RuntimeError(f"the client does not answer: {client.tail()}")
    return line
