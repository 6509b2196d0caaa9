"""The performer of the stage's own job: it calls nothing, so its run measures onthedot alone."""

from onthedot.ports import Answer, Call, Performer


class Canary(Performer):
    """A performer that always succeeds, at once."""

    def perform(self, call: Call) -> Answer:  # noqa: ARG002 - there is nothing to call
        """Return success."""
        return Answer(ok=True)
