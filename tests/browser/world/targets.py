"""The targets of the past: each answers by its path and the time, and takes some milliseconds."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Answer, Call, Performer
from onthedot.engine import Engine
from onthedot.targets.http.messages import Reply, judge
from onthedot.targets.types import HttpTarget
from onthedot.testing.scheduler import WorkerDied
from onthedot.workflows.start import WorkflowStarter

Behaviour = Callable[[int], "Reply | Answer | None"]
"""What a target answers at an instant. None: as a healthy one."""
DONE = Reply(200, b'{"ok": true}')


def down(first: int, last: int, status: int = 503, body: str = "no healthy upstream") -> Behaviour:
    """Answer so from one instant to another, and be healthy before and after."""
    return lambda now: Reply(status, body.encode()) if first <= now < last else None


def unreachable(first: int, last: int, host: str) -> Behaviour:
    """Refuse connections from one instant to another."""
    refused = Answer(ok=False, error=f"failed while connecting to {host}: connection refused", error_class="connection")
    return lambda now: refused if first <= now < last else None


def now_and_then(share: float, status: int, body: str, chance: random.Random) -> Behaviour:
    """Answer so in a share of the calls."""
    return lambda _: Reply(status, body.encode()) if chance.random() < share else None


def kills(_: int) -> Reply:
    """Let the worker die."""
    raise WorkerDied


@dataclass
class PastTargets(Performer):
    """A performer of HTTP targets by rules, and of workflows by the engine."""

    clock: VirtualClock
    chance: random.Random
    rules: dict[str, Behaviour] = field(default_factory=dict)
    """By the beginning of host and path."""
    engine: Engine | None = None

    def perform(self, call: Call) -> Answer:
        target = call.definition.target
        if not isinstance(target, HttpTarget):
            assert self.engine is not None
            return WorkflowStarter(self.engine).perform(call)
        answer = self._answer(target.url)
        self.clock.advance(self.chance.lognormvariate(-5.5, 0.6))
        return answer if isinstance(answer, Answer) else judge(answer, self.clock.now())

    def _answer(self, url: str) -> Reply | Answer:
        parts = urlsplit(url)
        place = f"{parts.hostname}{parts.path}"
        for start, behaviour in self.rules.items():
            if place.startswith(start) and (answer := behaviour(self.clock.now())) is not None:
                return answer
        return DONE
