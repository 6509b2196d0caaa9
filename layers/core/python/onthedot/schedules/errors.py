"""The errors of schedules. Each is an invalid request, and a ValueError for validators of fields."""

from onthedot.core.errors import InvalidRequest, Problem


class BadSchedule(InvalidRequest, ValueError):
    """The schedule is not valid. `field` names the part of the request, the message says what to write."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(Problem(field, message))
        self.field, self.message = field, message

    def __str__(self) -> str:
        """Return the message without the field, because a validator of that field adds its name."""
        return self.message


class BadCron(BadSchedule):
    """The cron expression is refused. The message names its field and says what to write instead."""

    def __init__(self, message: str) -> None:
        super().__init__("cron", message)


class BadTimezone(BadSchedule):
    """There is no such time zone. The message offers the nearest name."""

    def __init__(self, message: str) -> None:
        super().__init__("timezone", message)
