"""`onthedot schedule`: submit one job, and say when it fires."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import click

from onthedot.cli.documents import Documents
from onthedot.cli.jobs.job_options import job_options, read_job
from onthedot.cli.options import WIDE, SectionedCommand, on_api
from onthedot.cli.output import print_document, print_next, printable, titled
from onthedot.cli.times import cron_in_words, day_and_clock, exactly, in_full, read_moment, this_moment
from onthedot.client import requests
from onthedot.client.options import PreviewOptions

SHOWN_FIRES: Final = 3


@click.command(cls=SectionedCommand, context_settings=WIDE)
@job_options
@on_api
def schedule(api: Documents, as_json: bool, **options: Any) -> None:
    """Schedule a job.

    Without a time, the job runs now. Exit code 3: the API refused the job; the message names each field at fault.

    \b
    Examples:
      onthedot schedule --in 10m --http https://api.example.com/remind --payload '{"user": 42}'
      onthedot schedule --at "tomorrow 9:00" --python send-email --payload @mail.json
      onthedot schedule --cron "0 9 * * mon-fri" --tz Europe/Berlin --http https://api.example.com/report
    """
    now = this_moment()
    fields = read_job(options, now)
    job = api.ask(requests.schedule(fields))
    if as_json:
        print_document(job)
        return
    click.echo(_sentence(job, fields, now))
    if fires := _next_fires(api, job, fields):
        click.echo(f"Next: {', '.join(fires)}.")
    print_next(f"onthedot explain {job['job_id']}", f"onthedot cancel {job['job_id']}")


def _sentence(job: Mapping[str, Any], fields: Mapping[str, Any], now: datetime) -> str:
    title, moment = titled(job.get("name"), job["job_id"]), read_moment(job.get("next_fire_time"))
    if rule := rule_in_words(fields):
        return f"Scheduled {title}: {rule}."
    if "on_event" in fields:
        return f"Scheduled {title} for each event that matches."
    if "dependencies" in fields:
        return f"Scheduled {title} after {', '.join(map(printable, fields['dependencies']))}."
    if moment is None or moment <= this_moment():
        return f"Scheduled {title}: it is due now."
    return f"Scheduled {title} for {in_full(moment, now, zone_of(fields))}."


def rule_in_words(fields: Mapping[str, Any]) -> str:
    """Empty when the fields have neither `every` nor `cron`."""
    if every := fields.get("every"):
        return f"every {exactly(every)}" if isinstance(every, int) else printable(every)
    if cron := fields.get("cron"):
        return f"{printable(cron_in_words(cron))}, {printable(fields.get('timezone', 'UTC'))}"
    return ""


def _next_fires(api: Documents, job: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    """Return the next fire times of a recurring job, in its time zone.

    The job is accepted, so a preview that fails changes nothing: the first fire time is known.
    """
    first = read_moment(job.get("next_fire_time"))
    if not fields.keys() & {"cron", "every"} or first is None:
        return []
    now, zone = this_moment(), zone_of(fields)
    most = min(SHOWN_FIRES, fields.get("max_runs", SHOWN_FIRES))
    moments = [first, *_after(api, fields, first)][:most]
    shown = [day_and_clock(moment, now, zone, words=False) for moment in moments]
    return [_without_day(one, before) for one, before in zip(shown, ["", *shown], strict=False)]


def _without_day(shown: str, before: str) -> str:
    day, _, clock = shown.rpartition(" ")
    return clock if before.startswith(f"{day} ") else shown


def _after(api: Documents, fields: Mapping[str, Any], first: datetime) -> list[datetime]:
    known = {name: fields[name] for name in PreviewOptions.__annotations__ if name in fields}
    options: Any = {**known, "after": first, "count": SHOWN_FIRES - 1}
    try:
        found = api.ask(requests.preview(options))
    except click.ClickException:
        return []
    # With an example, the id of the job has chosen other values for H.
    return [] if "example" in found else [datetime.fromisoformat(fire["time"]) for fire in found["fire_times"]]


def zone_of(fields: Mapping[str, Any]) -> ZoneInfo | None:
    """Return the zone of the job's times. None is the zone of this machine, also when it lacks the data of the zone."""
    try:
        return ZoneInfo(fields.get("timezone", "UTC")) if fields.keys() & {"timezone", "cron"} else None
    except (OSError, ValueError, KeyError):
        return None
