"""`onthedot change`: change one job, and say when it fires next.

Its options are those of `onthedot schedule` that a change can have, and `--clear`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.jobs.job_options import OPTIONS, for_the_client, given_options
from onthedot.cli.jobs.schedule import rule_in_words, zone_of
from onthedot.cli.options import WIDE, Command, SectionedCommand, on_api
from onthedot.cli.output import print_document, print_next, printable, short, titled
from onthedot.cli.times import in_full, read_moment, this_moment
from onthedot.client import requests
from onthedot.jobs.spec import CHANGEABLE

_RULE: Final = ("cron", "every", "timezone")
_TIME: Final = ("at", "delay")
_LONG: Final = ("target", "payload", "on_event")
CLEARED: Final[Mapping[str, Any]] = {
    **{field.name: None for field in CHANGEABLE if field.null},
    "payload": None,
    "tags": {},
    "requirements": {},
}
"""The fields that a change can remove from a job, with the value that removes each."""


class Cleared(click.Choice[str]):
    """A field that can be removed, also as options spell it: end-at."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("-", "_"), param, ctx)


_CLEAR: Final = click.option(
    "--clear",
    multiple=True,
    type=Cleared(list(CLEARED)),
    metavar="FIELD",
    help=f"Remove a field: {', '.join(CLEARED)}; may be repeated.",
)


def change_options(command: Command) -> Command:
    """Add the options of a change to a command, for `read_change`."""
    command = _CLEAR(command)
    for option in reversed(OPTIONS):
        command = option.added(command, with_default=False) if option.in_change else command
    return command


def read_change(options: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Raise click.UsageError, which names the option at fault."""
    given = given_options(options)
    if not given:
        raise click.UsageError("say what changes: at least one option, such as --cron, --payload or --clear")
    cleared = {name: CLEARED[name] for name in given.pop("clear", ())}
    fields = for_the_client(given, now)
    if both := fields.keys() & cleared.keys():
        raise click.UsageError(f"--clear {min(both)} removes a field that another option sets; keep one of them")
    return {**fields, **cleared}


@click.command(cls=SectionedCommand, context_settings=WIDE)
@click.argument("job", metavar="JOB", type=JobName())
@change_options
@click.option("--if-version", type=int, help="Only if the job still has this version; `get --json` shows it.")
@on_api
def change(job: str, if_version: int | None, api: Documents, as_json: bool, **options: Any) -> None:
    """Change a job.

    Fields that you leave out stay as they are. A new target replaces the old one; new tags, gates and worker
    requirements replace all the old ones. Exit code 3: the API refused the change, or the job has another version. Exit
    code 4: there is no such job.

    \b
    Examples:
      onthedot change report --cron "0 8 * * mon-fri" --timeout 2m
      onthedot change remind-42 --in 10m --payload @mail.json
      onthedot change report --clear end_at --if-version 3
    """
    now = this_moment()
    fields: Any = read_change(options, now)
    operation = requests.change(find_job(api, job), fields, if_version)
    changed = api.ask(operation, job=job)
    if as_json:
        print_document(changed)
        return
    title = titled(changed.get("name"), changed["job_id"])
    click.echo(f"Changed {title}: {'; '.join(_said(changed, operation.body, now))}.")
    print_next(f"onthedot get {changed['job_id']}", f"onthedot explain {changed['job_id']}")


def _said(job: Mapping[str, Any], sent: Mapping[str, Any], now: datetime) -> Iterator[str]:
    rule = rule_in_words(job) if sent.keys() & set(_RULE) else ""
    hidden = (*_TIME, *_RULE) if rule or sent.keys() & set(_TIME) else ()
    fields = [*([rule] if rule else []), *(_field(name, sent[name]) for name in sent if name not in hidden)]
    if fields:
        yield ", ".join(fields)
    moment = read_moment(job.get("next_fire_time"))
    if job["status"] == "PAUSED":
        yield "it is paused"
    elif moment is not None:
        yield "it is due now" if moment <= this_moment() else f"next {in_full(moment, now, zone_of({**sent, **job}))}"
    elif not fields:
        yield "it has no next fire"


def _field(name: str, value: Any) -> str:
    if value is None or (value in ([], {}) and name not in _LONG):
        return f"no {name}"
    if name in _LONG:
        return f"new {name}"
    return short(printable(f"{name} {_text(value)}"))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(one)}" for name, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
