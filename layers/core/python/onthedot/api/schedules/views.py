"""Types of the answers about schedules."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class DstView(TypedDict):
    """The policy for fire times that a change of the clocks skips (`gap`) or repeats (`overlap`)."""

    gap: str
    overlap: str


class MisfireView(TypedDict):
    """The policy for fire times that were missed by more than the grace."""

    policy: str
    grace_seconds: int


class RecurrenceView(TypedDict):
    """The schedule of a recurring job: `cron` with its time zone and policy, or `every`.

    `runs` counts the runs whose time has come.
    """

    cron: NotRequired[str]
    timezone: NotRequired[str]
    dst: NotRequired[DstView]
    every: NotRequired[int]
    start_at: NotRequired[str | None]
    end_at: NotRequired[str | None]
    max_runs: NotRequired[int | None]
    jitter_seconds: NotRequired[int]
    misfire: NotRequired[MisfireView]
    overlap: NotRequired[str]
    runs: NotRequired[int]


class FireTimeView(TypedDict):
    """A fire time in UTC and in the schedule's time zone. `note` says how a change of the clocks or jitter moves it."""

    time: str
    local: str
    note: str | None


class PreviewView(TypedDict):
    """The next fire times of a schedule.

    For an expression with `H` they are those of `example`: the id of each job chooses its own values.
    """

    fire_times: list[FireTimeView]
    example: NotRequired[str]


class HeavyJobView(TypedDict):
    """A job with many runs in a minute."""

    job_id: str
    name: str | None
    runs: int


class MinuteView(TypedDict):
    """The number of runs that are scheduled for a minute, and up to 3 jobs with the most of them."""

    time: str
    runs: int
    heaviest: NotRequired[list[HeavyJobView]]


class ForecastView(TypedDict):
    """The scheduled runs of each coming minute. When `truncated` is true there are more than were counted.

    From `complete_until` on, some runs that wait already were not counted. Runs of recurring jobs were.
    """

    minutes: list[MinuteView]
    truncated: bool
    complete_until: str | None
