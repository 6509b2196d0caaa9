"""`onthedot change`: change one job, and say when it fires next."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, missing_job
from onthedot.cli.common.moments import in_full, read_moment, this_moment
from onthedot.cli.common.names import JobName, find_job
from onthedot.cli.common.output import print_document, print_next
from onthedot.cli.common.sections import WIDE, SectionedCommand
from onthedot.cli.jobs.change_options import change_options, read_change
from onthedot.cli.jobs.schedule import rule_in_words, title_of, zone_of
from onthedot.cli.text import printable, short
from onthedot.cli.where import api_options
from onthedot.client import requests

_RULE: Final = ("cron", "every", "timezone")
_TIME: Final = ("at", "delay")
_LONG: Final = ("target", "payload", "on_event")


@click.command(cls=SectionedCommand, context_settings=WIDE)
@click.argument("job", metavar="JOB", type=JobName())
@change_options
@click.option("--if-version", type=int, help="Only if the job still has this version, which `get --json` shows.")
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer of PATCH /v1/jobs/{id} unchanged.")
def change(job: str, if_version: int | None, url: str | None, token: str | None, as_json: bool, **options: Any) -> None:
    """Change a job.

    Fields that you do not name stay as they are. A new target, and new tags, gates and requirements of the worker,
    replace all the old ones. Exit code 3: the API refuses the change, or the job has another version. Exit code 4:
    there is no such job.

    \b
    Examples:
      onthedot change report --cron "0 8 * * mon-fri" --timeout 2m
      onthedot change remind-42 --in 10m --payload @mail.json
      onthedot change report --clear end_at --if-version 3
    """
    now = this_moment()
    fields: Any = read_change(options, now)
    api = Documents(url, token)
    operation = requests.change(find_job(api, job), fields, if_version)
    changed = api.ask(operation, missing_job(job))
    if as_json:
        print_document(changed)
        return
    click.echo(f"Changed {title_of(changed)}: {'; '.join(_said(changed, operation.body, now))}.")
    print_next(f"onthedot get {changed['job_id']}", f"onthedot explain {changed['job_id']}")


def _said(job: Mapping[str, Any], sent: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Yield the fields that were sent, and the next fire of the changed job."""
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
    """Return a field with its new value, unless that is long by nature."""
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
