"""Kill a server at random moments while clients create jobs, start it again, and check that nothing is lost."""

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.durability.kills.clients import Load
from tests.durability.kills.far_jobs import accept_far_jobs
from tests.durability.kills.listener import Listener
from tests.durability.kills.servers import Servers, servers
from tests.durability.kills.verdict import Kill, Verdict

NEW_PROCESS_EVERY: Final = 10
"""Each tenth server is started by the command. The others are forked, which is quicker."""
KILLED_AT_START: Final = 0.15
"""The part of the servers that is killed before health answers."""
LAST_SECONDS: Final = 120.0
"""How long the last server gets to run the due jobs."""


@dataclass
class Plan:
    """One load with kills."""

    kills: int
    jobs: int
    seconds: float
    """The time over which jobs are created."""
    seed: int = 1
    most_alive: float = 0.6
    """A server lives for at most so many seconds after it is ready."""
    far: int = 0
    """Further jobs, which an earlier process accepted long ago. They wait in fire slots, and a tick claims them."""
    longest_ahead: float = 3.0

    def ahead(self, chance: random.Random) -> float:
        return chance.choice((0.0, chance.uniform(0, self.longest_ahead)))


@dataclass
class Outcome:
    """The figures and faults of one load with kills."""

    verdict: Verdict = field(default_factory=Verdict)
    kills: list[Kill] = field(default_factory=list)
    new_starts: list[float] = field(default_factory=list)
    """Seconds from the command to the answer of health."""
    new_cpu: list[float] = field(default_factory=list)
    """CPU seconds that these needed until then."""
    forked_starts: list[float] = field(default_factory=list)
    acknowledged: int = 0
    repeated: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        late = sorted(self.verdict.lateness_ms) or [0]
        new, cpu, forked = sorted(self.new_starts), sorted(self.new_cpu), sorted(self.forked_starts)
        return (
            f"{len(self.kills)} kills in {self.seconds:.0f} s; {self.acknowledged} jobs acknowledged,"
            f" {self.repeated} requests without an answer; {self.verdict.duplicates} calls repeated;"
            f" {len(self.verdict.faults)} faults; lateness p50 {late[len(late) // 2]} ms, most {late[-1]} ms;"
            f" new process ready after {_span(new)} and {_span(cpu)} of CPU, forked one after {_span(forked)}"
        )


def _span(sorted_seconds: list[float]) -> str:
    if not sorted_seconds:
        return "-"
    middle, number = sorted_seconds[len(sorted_seconds) // 2], len(sorted_seconds)
    return f"{middle:.2f} s (median of {number}), most {sorted_seconds[-1]:.2f} s"


def play(plan: Plan, folder: Path, show: Callable[[str], None] = lambda _: None) -> Outcome:
    """Do one load with kills."""
    outcome, began = Outcome(), time.monotonic()
    with Listener() as listener, servers(folder) as server:
        far = accept_far_jobs(server.data, listener.url, range(plan.jobs, plan.jobs + plan.far), plan.seconds)
        server.start()
        server.wait_until_ready()
        load = Load(server.port, listener.url, plan.jobs, plan.seconds, plan.ahead, plan.seed)
        load.acknowledged += far
        load.start()
        _kill_again_and_again(plan, server, listener, outcome, show)
        _let_finish(server, load, listener)
        server.kill(signal.SIGTERM)
        outcome.acknowledged, outcome.repeated = len(load.acknowledged), load.again
        outcome.verdict.faults += [f"refused: {answer}" for answer in load.refused]
        outcome.verdict.judge_calls(load.acknowledged, listener.calls, outcome.kills)
        outcome.verdict.judge_file(server.data, load.acknowledged, listener.calls)
    outcome.seconds = time.monotonic() - began
    return outcome


def _kill_again_and_again(
    plan: Plan, server: Servers, listener: Listener, outcome: Outcome, show: Callable[[str], None]
) -> None:
    chance = random.Random(plan.seed)
    for number in range(plan.kills):
        time.sleep(chance.uniform(0.0, plan.most_alive))
        _kill(server, listener, outcome)
        while chance.random() < KILLED_AT_START and len(outcome.kills) < plan.kills:
            server.fork()
            time.sleep(chance.uniform(0.0, 0.25))
            _kill(server, listener, outcome)
        is_new = number % NEW_PROCESS_EVERY == 0
        (server.start if is_new else server.fork)()
        (outcome.new_starts if is_new else outcome.forked_starts).append(server.wait_until_ready())
        outcome.new_cpu += [server.cpu_seconds()] if is_new else []
        if len(outcome.kills) % 100 == 0:
            show(f"{len(outcome.kills)} kills")
        if len(outcome.kills) >= plan.kills:
            return


def _kill(server: Servers, listener: Listener, outcome: Outcome) -> None:
    server.kill()
    dead_at = time.time_ns() // 1_000_000
    outcome.kills.append(Kill(dead_at, listener.heard()))


def _let_finish(server: Servers, load: Load, listener: Listener) -> None:
    """Wait until the clients are done and each acknowledged job has been called."""
    until = time.monotonic() + LAST_SECONDS + load.seconds
    while time.monotonic() < until:
        if load.is_over and all(job.number in listener.calls for job in load.acknowledged):
            time.sleep(0.5)
            return
        time.sleep(0.1)
