"""Ports whose calls take time and fail by chance: the process dies, stops for a while, or its reply is lost."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock, ReadRecords, Undecided
from onthedot.engine import Engine
from tests.scenarios.kits.faults import Crash

PORTS: Final = ("store", "queues", "registry")
READS: Final = frozenset(
    {"get", "get_many", "read_slot", "runs_of", "failed", "find", "read", "pages", "names", "visible", "oldest_age_ms"}
    | {"query", "receive", "workers", "all"}
)
"""The calls that change nothing. `receive` is among them: the message of a lost reply is delivered again."""
BATCHES: Final = frozenset({"move_many", "create_many", "get_many", "send"})


@dataclass(frozen=True)
class Odds:
    """How likely each fault is, by call."""

    crash: float = 0.0
    """The process dies, before or after the effect."""
    away: float = 0.0
    """The call raises Unavailable, before or after the effect."""
    repeated: float = 0.0
    """The reply of the first try is lost, and the engine tries again, as the SDK does."""
    stop: float = 0.0
    """The process stops for longer than a lease, before or after the effect, and goes on."""

    @property
    def any(self) -> float:
        return self.crash + self.away + self.repeated + self.stop


CALM: Final = Odds()


@dataclass
class Weather:
    """The odds of the present, and the time that calls take."""

    clock: Clock
    chance: random.Random
    odds: Odds = CALM
    slowest_ms: int = 8
    longest_stop_ms: int = 90_000
    struck: Counter[str] = field(default_factory=Counter)
    """How often each fault has struck."""

    def wait(self) -> None:
        self.clock.sleep_until(self.clock.now() + self.chance.randint(1, self.slowest_ms))

    def engine(self, inner: Engine) -> Engine:
        """Return the engine with its calls in this weather."""
        ports: dict[str, Any] = {port: Perturbed(getattr(inner, port), port, self) for port in PORTS}
        return replace(inner, **ports)

    def call(self, what: str, name: str, made: Callable[[], Any], arguments: Sequence[Any]) -> Any:
        self.wait()
        odds = self.odds
        drawn = self.chance.random() if odds.any else 1.0
        if drawn >= odds.any:
            return made()
        if drawn < odds.crash:
            return self._around(what, made, self._crash)
        if drawn < odds.crash + odds.away:
            return self._away(what, name, made, arguments)
        if drawn < odds.crash + odds.away + odds.repeated:
            if name not in READS:
                self.struck["repeated"] += 1
                made()
            return made()
        return self._around(what, made, self._stop)

    def _around(self, what: str, made: Callable[[], Any], strike: Callable[[str], None]) -> Any:
        if self.chance.random() < 0.5:
            strike(f"before {what}")
            return made()
        answer = made()
        strike(f"after {what}")
        return answer

    def _crash(self, where: str) -> None:
        self.struck["crash"] += 1
        raise Crash(where)

    def _stop(self, _: str) -> None:
        self.struck["stop"] += 1
        self.clock.sleep_until(self.clock.now() + self.chance.randint(1_000, self.longest_stop_ms))

    def _away(self, what: str, name: str, made: Callable[[], Any], arguments: Sequence[Any]) -> Any:
        self.struck["away"] += 1
        if name not in READS and self.chance.random() < 0.5:
            made()
        if name not in BATCHES:
            raise Unavailable(what)
        if name == "get_many":
            return ReadRecords({}, unread=frozenset(arguments[0]))
        return arguments[0] if name == "send" else [Undecided("throttled") for _ in arguments[0]]


@dataclass(frozen=True)
class Perturbed:
    """One port in some weather."""

    inner: Any
    port: str
    weather: Weather

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method
        what = f"{self.port}.{name}"
        return lambda *given, **named: self.weather.call(what, name, lambda: method(*given, **named), given)
