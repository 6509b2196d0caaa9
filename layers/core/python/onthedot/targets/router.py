"""One target for all types: it finds who performs a call's, made when first needed."""

from collections.abc import Callable, Mapping

from onthedot.domain.targets.types import type_of
from onthedot.ports import Answer, Call, Performer


class TargetRouter(Performer):
    """`makers`: by target type, what performs it. What is not there is refused: another pool should have got it."""

    def __init__(self, factories: Mapping[str, Callable[[], Performer]]) -> None:
        self._makers = factories
        self._made: dict[str, Performer] = {}

    def perform(self, call: Call) -> Answer:
        kind = type_of(call.definition.target)
        if kind not in self._makers:
            why = f"this worker cannot run {kind} targets"
            return Answer(ok=False, error=why, error_class="unsupported", retryable=False)
        if kind not in self._made:
            # Made twice by two threads at the same moment, one of them is kept: nothing is lost.
            self._made.setdefault(kind, self._makers[kind]())
        return self._made[kind].perform(call)
