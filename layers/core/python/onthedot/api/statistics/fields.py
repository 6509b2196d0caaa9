"""Models of the requests for statistics."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from onthedot.api.core.fields import Fields, PriorityName, QueryInstant
from onthedot.domain.runs.records import Priority
from onthedot.domain.statistics.steps import STEPS_SECONDS, StepRange, step_range

_NAMES: Final = ", ".join(str(step) for step in STEPS_SECONDS[:-1])
_STEPS: Final = {str(step): step for step in STEPS_SECONDS}


def _step(text: Any) -> Any:
    """Return the step in a query parameter, which is always text."""
    if text in _STEPS:
        return _STEPS[text]
    raise ValueError(f"is not a length of steps in seconds; give {_NAMES} or {STEPS_SECONDS[-1]}")


Step = Annotated[int, BeforeValidator(_step), WithJsonSchema({"type": "integer", "enum": list(STEPS_SECONDS)})]


class StatisticsQuery(Fields):
    """The query of statistics. Without `from` and `to` it is about the last hour."""

    since: Annotated[QueryInstant | None, Field(alias="from", description="the first step contains this time")] = None
    to: Annotated[
        QueryInstant | None, Field(description="the end of the range; the end of the present minute if it is left out")
    ] = None
    step: Annotated[Step | None, Field(description="seconds of each step")] = None
    priority: PriorityName | None = None

    def asked(self, now: int) -> StepRange:
        """Return the range of time. Raise InvalidRequest."""
        return step_range(self.since, self.to, self.step, now)

    @property
    def of_priority(self) -> Priority | None:
        """The priority whose runs are counted. None: all."""
        return None if self.priority is None else Priority(self.priority)
