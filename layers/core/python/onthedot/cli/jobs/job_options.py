"""The options that say what a job is. `onthedot schedule` has all of them, `onthedot change` most."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import click

from onthedot.cli.common.durations import Duration
from onthedot.cli.common.sections import OTHER, SectionOption

Command = TypeVar("Command", bound=Callable[..., Any])
PRIORITIES: Final = ("HIGH", "MEDIUM", "LOW")
SWITCH: Final = {"on": True, "off": False}
_MISFIRES: Final = ("run_latest", "run_all", "skip")
_PARENT_FAILURES: Final = ("fail", "run", "skip")


class Number(click.ParamType[float]):
    """A number, an int when it is whole. JSON has neither infinity nor NaN."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Fail when the text is none."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return int(number) if number.is_integer() else number


class JobOption(NamedTuple):
    """An option of a command that says what a job is, as click takes it."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    section: str = ""

    def added(self, command: Command) -> Command:
        """Return the command with this option."""
        return click.option(*self.names, cls=SectionOption, section=self.section, **self.settings)(command)

    def without_default(self) -> "JobOption":
        """Return the option for a job that exists: without it, the job keeps its value."""
        return self._replace(settings={**self.settings, "help": self.settings["help"].partition("  [")[0]})


def _option(*names: str, **settings: Any) -> JobOption:
    return JobOption(names, settings)


def _in_sections(sections: Mapping[str, Sequence[JobOption]]) -> tuple[JobOption, ...]:
    return tuple(option._replace(section=title) for title, options in sections.items() for option in options)


_SECTIONS: Final = {
    "When": (
        _option("--in", "delay", type=Duration(), help="Once, after this time, such as 10m or 1h30m."),
        _option("--at", metavar="WHEN", help='Once, such as "tomorrow 9:00", "fri 17:30" or RFC 3339.'),
        _option("--cron", metavar="EXPRESSION", help="Again and again: five fields, @daily, or cron(…)."),
        _option("--every", metavar="TIME", help="Again and again, such as 15m or rate(5 minutes)."),
        _option("--on-event", metavar="JSON", help="For each event that matches this pattern."),
        _option("--tz", "timezone", metavar="NAME", help="Time zone of --cron and --at.  [UTC, this machine's]"),
        _option(
            "--dst-gap", type=click.Choice(["run_after", "skip"]), help="For times that clocks jump over.  [run_after]"
        ),
        _option(
            "--dst-overlap", type=click.Choice(["once", "twice"]), help="For times that clocks show twice.  [once]"
        ),
        _option("--start-at", metavar="WHEN", help="No fire time before it."),
        _option("--end-at", metavar="WHEN", help="No fire time after it."),
        _option("--max-runs", type=int, help="End the job after so many runs."),
        _option("--jitter", "jitter_seconds", type=Duration(whole=True), help="Start each run up to so much later."),
    ),
    "If a run cannot start in time": (
        _option(
            "--overlap", type=click.Choice(["allow", "skip", "queue"]), help="If the run before has not ended.  [allow]"
        ),
        _option(
            "--misfire",
            type=click.Choice(_MISFIRES),
            metavar="POLICY",
            help="For missed fire times: run_latest, run_all or skip.  [run_latest]",
        ),
        _option(
            "--misfire-grace",
            type=Duration(whole=True),
            help="A fire time that is found later than this is missed.  [60s]",
        ),
        _option(
            "--start-within",
            "start_within_seconds",
            type=Duration(whole=True),
            help="Skip a run that could only start later than this.",
        ),
    ),
    "What": (
        _option("--http", "url_to_call", metavar="URL", help="Call this URL, with the payload as body."),
        _option("--method", help="Method of --http.  [POST]"),
        _option("--header", multiple=True, metavar="NAME:VALUE", help="Header of --http. May be repeated."),
        _option("--python", "handler", metavar="NAME", help="Run this handler on a worker."),
        _option("--shell", metavar="COMMAND", help="Run this program on a worker, without a shell's expansions."),
        _option("--target", metavar="JSON", help="Any other target."),
        _option("--payload", metavar="JSON|@FILE|-", help="JSON, a file with JSON, or - for stdin."),
    ),
    "For people": (
        _option("--name", help="Name for people."),
        _option("--description", help="Text for people."),
        _option("--tag", multiple=True, metavar="KEY=VALUE", help="Tag. May be repeated."),
    ),
    "How": (
        _option(
            "--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Which queue it waits in.  [MEDIUM]"
        ),
        _option("--gate", multiple=True, metavar="NAME", help="Gate to pass. May be repeated."),
        _option("--timeout", "timeout_seconds", type=Duration(whole=True), help="Most time of one attempt.  [60s]"),
    ),
    "Retries": (
        _option("--max-retries", type=int, help="Retries after failed attempts.  [3]"),
        _option("--backoff", type=Duration(), help="Wait before the first retry.  [2s]"),
        _option("--backoff-factor", type=Number(), help="Each later wait is so many times longer.  [2]"),
        _option("--max-backoff", type=Duration(), help="The longest wait.  [15m]"),
        _option("--backoff-jitter", type=click.Choice([*SWITCH]), help="Wait only a random part of each wait.  [on]"),
    ),
    "What the worker must have": (
        _option("--capability", multiple=True, metavar="NAME", help="The worker must offer it. May be repeated."),
        _option("--cpu", type=Number(), help="CPUs for each run.  [0]"),
        _option("--memory-mb", type=int, help="Memory for each run.  [0]"),
        _option("--storage-mb", type=int, help="Disk for each run.  [0]"),
    ),
}
OPTIONS: Final = _in_sections(_SECTIONS)
"""The options of a new job that a change has too."""
OF_NEW_JOBS: Final = _in_sections(
    {
        "After other jobs": (
            _option("--depends-on", multiple=True, metavar="JOB_ID", help="Wait for this job. May be repeated."),
            _option(
                "--on-parent-failure",
                type=click.Choice(_PARENT_FAILURES),
                metavar="POLICY",
                help="If one of them does not succeed: fail, run or skip.  [fail]",
            ),
        ),
        OTHER: (
            _option("--idempotency-key", metavar="KEY", help="The same key and options again make no second job."),
        ),
    }
)
"""The options of new jobs only."""
