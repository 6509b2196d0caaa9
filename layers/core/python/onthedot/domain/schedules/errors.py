"""What is wrong with a *when*: refused as an invalid request, and a ValueError for whoever validates fields."""

from onthedot.domain.errors import InvalidRequest, Problem


class BadSchedule(InvalidRequest, ValueError):
    """The schedule does not make sense; `field` names the part of the request, the message says what to write."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(Problem(field, message))
        self.field, self.message = field, message

    def __str__(self) -> str:
        """Without the field: a validator of that field adds its name."""
        return self.message


class BadCron(BadSchedule):
    """The cron expression is refused; the message names its field and says what to write instead."""

    def __init__(self, message: str) -> None:
        super().__init__("cron", message)


class BadTimezone(BadSchedule):
    """There is no such time zone; the message offers the nearest name."""

    def __init__(self, message: str) -> None:
        super().__init__("timezone", message)
