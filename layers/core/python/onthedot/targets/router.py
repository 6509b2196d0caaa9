"""One performer for all types of targets."""

from collections.abc import Callable, Mapping

from onthedot.core.ports import Answer, Call, Performer
from onthedot.targets.answers import refused
from onthedot.targets.types import type_of


class TargetRouter(Performer):
    """A performer that holds one performer for each target type, made when a call first needs it.

    A call of another type is refused: the dispatcher should have sent it to another pool.
    """

    def __init__(self, factories: Mapping[str, Callable[[], Performer]]) -> None:
        self._factories = factories
        self._performers: dict[str, Performer] = {}

    def perform(self, call: Call) -> Answer:
        kind = type_of(call.definition.target)
        if kind not in self._factories:
            return refused(f"this worker cannot run {kind} targets", "unsupported")
        if kind not in self._performers:
            # Two threads may each make a performer at the same moment. The first one is kept, the other is dropped
            # unused.
            self._performers.setdefault(kind, self._factories[kind]())
        return self._performers[kind].perform(call)


class Canary(Performer):
    """A performer that always succeeds, at once."""

    def perform(self, call: Call) -> Answer:  # noqa: ARG002 - there is nothing to call
        return Answer(ok=True)
