"""Services that fail for a span of virtual time: chosen calls of ports raise, or answer that they failed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import ReadRecords, RunMessage, Undecided
from onthedot.core.records import Record, Status
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation

HOUR: Final = 3600.0


def _always(*_: Any) -> bool:
    return True


@dataclass
class Outage:
    """One failing call, such as `queues.visible`."""

    call: str
    until: int
    error: Callable[[str], Exception] = Unavailable
    concerns: Callable[..., bool] = _always
    """Choose by the arguments of the call. For `queues.send`, choose by each message."""
    takes_ms: int = 0
    """The time that passes before the call fails, as with a timeout."""


@dataclass
class Outages:
    """The outages of one world, and how many calls each of them made fail."""

    world: World
    outages: list[Outage] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)

    def fail(self, *calls: str, seconds: float = HOUR, **how: Any) -> None:
        """Make the calls fail from now on for this long."""
        until = self.world.clock.now() + round(seconds * 1000)
        self.outages += [Outage(call, until, **how) for call in calls]

    def failing_world(self) -> World:
        """Return the world with all its ports failing, those of the planner and the dispatcher included."""
        spared = {"clock", "database", "deployment"}
        names = [one.name for one in fields(self.world) if one.name not in spared]
        failing: dict[str, Any] = {name: FailingPort(name, getattr(self.world, name), self) for name in names}
        return replace(self.world, **failing)

    def call(self, name: str, made: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        now = self.world.clock.now()
        struck = [one for one in self.outages if one.call == name and now < one.until]
        if name == "queues.send":
            return self._send(struck, made, *given)
        for outage in struck:
            if outage.concerns(*given):
                return self._failed(outage, given)
        return made(*given, **named)

    def _failed(self, outage: Outage, given: tuple[Any, ...]) -> Any:
        """Answer as an engine does whose service failed until the deadline, or raise."""
        self._note(outage)
        if outage.error is Unavailable and outage.call in ("store.move_many", "store.create_many"):
            return [Undecided("an outage") for _ in given[0]]
        if outage.error is Unavailable and outage.call == "store.get_many":
            return ReadRecords({}, unread=frozenset(given[0]))
        raise outage.error(f"{outage.call}: an outage")

    def _send(
        self, struck: Sequence[Outage], made: Callable[..., Any], messages: Any, deadline: Any
    ) -> list[RunMessage]:
        kept = [message for message in messages if any(outage.concerns(message) for outage in struck)]
        if kept:
            self._note(struck[0])
        sent = [message for message in messages if message not in kept]
        return [*kept, *(made(sent, deadline) if sent else ())]

    def _note(self, outage: Outage) -> None:
        self.failed[outage.call] += 1
        self.world.clock.sleep_until(self.world.clock.now() + outage.takes_ms)


class FailingPort:
    """A port whose calls may fail."""

    def __init__(self, name: str, inner: Any, outages: Outages) -> None:
        self._name = name
        self._inner = inner
        self._outages = outages

    def __getattr__(self, call: str) -> Any:
        made = getattr(self._inner, call)
        return lambda *given, **named: self._outages.call(f"{self._name}.{call}", made, given, named)


class StormySimulation(Simulation):
    """A simulation whose parts meet the outages. Tests read the world itself, which has none."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.outages = Outages(world)
        self.calm = world
        self.world = self.outages.failing_world()
        self.slots_may_fail = True

    def plan_ticks(self) -> None:
        with suppress(Unavailable):  # the schedule calls the planner again, and then in the next minute
            super().plan_ticks()

    def calm_status(self, run: Record) -> Status:
        """Return the status, also while the store fails for all parts."""
        found = self.calm.store.get(run.run_id)
        assert found is not None, f"{run.run_id} is gone"
        return found.status
