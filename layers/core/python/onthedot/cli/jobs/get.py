"""`onthedot get` and `explain`: one job in words or as the API's fields, and why it has not run or what it is doing."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.options import on_api
from onthedot.cli.output import is_for_people, print_next, print_unchanged, printable, short, word, wrapped
from onthedot.cli.times import briefly, day_and_clock, distance, in_full, read_moment, schedule_in_words, this_moment
from onthedot.client import requests
from onthedot.client.requests import Operation

TITLES: Final = 14
"""Width of the titles next to the facts."""
COLOURS: Final = {"SUCCEEDED": "green", "FAILED": "red"}
_COMMANDS: Final = {
    "resume": "onthedot resume {job}",
    "run_now": "onthedot run {job}",
    "redrive": "onthedot redrive --job {job}",
    "check_ticks": "onthedot doctor",
    "open_stage": "onthedot thaw",
    "allow_overlap": "onthedot get {job}",
    "lift_limit": "onthedot gates list",
}
"""The command for each action of `what_if`. Sentences about workers name theirs."""
_INSTANT: Final = re.compile(
    r"(?P<before>\b(?:at about|at|since|about) )?(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"
)
_FAILED_ONCE: Final = re.compile(r"attempt \d+ failed: (?P<why>.*)", re.DOTALL)
_ENDED: Final = re.compile(r"failed: (?P<count>\d+) of \d+ attempts? failed: (?P<why>.*)", re.DOTALL)
_FIRST: Final = (
    "job_id", "name", "description", "status", "reason", "cron", "timezone", "every", "on_event", "target", "payload",
    "priority", "pool", "gates", "start_within_seconds", "tags", "dependencies", "workflow_id", "key", "created_at",
    "fire_time", "next_fire_time", "last_run", "last_outcome", "outcomes", "runs", "finished_at", "lateness_ms",
    "retry_count", "result", "changes",
)  # fmt: skip
"""The order in which a pipe gets the fields of a job. Others follow."""
_LEFT_OUT: Final = {
    "version", "dst", "start_at", "end_at", "max_runs", "jitter_seconds", "misfire", "overlap", "payload_url", "retry",
    "timeout_seconds", "requirements", "result_url", "on_parent_failure", "trace_id",
}  # fmt: skip
"""The fields that only `--json` shows."""
MOST_CHANGES: Final = 5
"""Changes that people see. `--json` has all that the job keeps."""
_DONE: Final = {one: f"{one.removesuffix('e')}ed" for one in ("create", "change", "pause", "resume")} | {
    "cancel": "cancelled"
}
_MARKS: Final = {"SUCCEEDED": "✓", "FAILED": "✗"}


@click.command()
@click.argument("wanted", metavar="JOB", type=JobName())
@on_api
def get(wanted: str, api: Documents, as_json: bool) -> None:
    """Show one job.

    Long values are cut. In a pipe, it prints the API's fields, separated by tabs; --json prints all of them in full.
    Exit code 4: there is no such job.

    \b
    Example:
      onthedot get job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    job = api.ask(requests.get(find_job(api, wanted)), job=wanted)
    if as_json:
        print_unchanged(job)
    elif not is_for_people():
        for name, value in fields_of(job):
            click.echo(f"{name}\t{short(printable(value))}")
    else:
        is_running = job["status"] == "RUNNING"
        _print_facts({**job, "progress": _progress(api, requests.execution(job["job_id"])) if is_running else ""})
        print_next(f"onthedot explain {word(wanted)}", f"onthedot executions {word(wanted)}")


def _print_facts(job: Mapping[str, Any]) -> None:
    room = shutil.get_terminal_size().columns - TITLES
    for title, value in facts_of(job, this_moment()):
        lines = wrapped(short(printable(value)), room)
        shown = f"{click.style(title.ljust(TITLES), dim=True)}{click.style(lines[0], fg=COLOURS.get(value))}"
        click.echo("\n".join([shown, *(" " * TITLES + line for line in lines[1:])]))


@click.command()
@click.argument("wanted", metavar="JOB", type=JobName())
@on_api
def explain(wanted: str, api: Documents, as_json: bool) -> None:
    """Say why a job has not run, or what it is doing.

    The first sentence says what is holding the job up. Then come the history of its latest run, and what would happen
    if you resumed, ran or redrove it now, or lifted a limit. Exit code 4: there is no such job.

    \b
    Example:
      onthedot explain job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    answer = api.ask(requests.explain(find_job(api, wanted)), job=wanted)
    if as_json:
        print_unchanged(answer)
        return
    progress = ""
    if any(reason["code"] == "running" for reason in answer["reasons"]):
        progress = _progress(api, requests.executions(None, job=answer["job_id"], status="RUNNING"))
    _print_explanation(answer, progress, word(wanted))


def _print_explanation(answer: Mapping[str, Any], progress: str, wanted: str) -> None:
    """Print each sentence whole on a line: a command in it must not be broken."""
    now = this_moment() if is_for_people() else None
    messages = [str(reason["message"]) for reason in answer["reasons"]] or ["nothing is known about it"]
    first, *others = [in_local_times(message, now) for message in messages]
    name = printable(str(answer.get("name") or answer["job_id"]))
    click.secho(f"{name} is {printable(str(answer['status']))}: {first}", bold=True)
    for message in filter(None, (progress, *others)):
        click.echo(f"  {message}")
    for time, message in moments_of(answer.get("timeline") or (), messages):
        click.echo(f"  {clock_of(time, now)}  {in_local_times(message, now)}")
    actions: Sequence[Mapping[str, Any]] = answer.get("what_if") or ()
    for one in actions:
        click.echo(in_local_times(one["message"], now))
    commands = [_COMMANDS[one["action"]] for one in actions if one["action"] in _COMMANDS]
    print_next(*(command.format(job=wanted) for command in commands), f"onthedot executions {wanted}")


def _progress(api: Documents, operation: Operation[Any]) -> str:
    """Return how far the run is that this call finds. A call that fails leaves it out: the rest is known."""
    try:
        found = api.ask(operation)
    except click.ClickException:
        return ""
    running = found.get("executions", [found])
    return progress_in_words(running[0], this_moment()) if running else ""


def progress_in_words(execution: Mapping[str, Any], now: datetime) -> str:
    """Return how far a run is, how long it has run, and its deadline. Return "" if it does not run now."""
    ran = execution.get("running_ms")
    if ran is None:
        return ""
    parts = [reported(execution), f"running for {briefly(ran / 1000)}"]
    if (deadline := read_moment(execution.get("deadline"))) is not None:
        left = (deadline - now).total_seconds()
        parts.append(f"deadline in {briefly(left)}" if left > 0 else f"deadline passed {briefly(-left)} ago")
    return ", ".join(filter(None, parts))


def reported(execution: Mapping[str, Any]) -> str:
    """Return what the run itself said last, such as "42 %, rows 420 of 1,000", or an empty text."""
    progress = execution.get("progress") or {}
    fraction, text = progress.get("fraction"), progress.get("text")
    shown = ["" if fraction is None else f"{fraction * 100:.0f} %", "" if text is None else printable(str(text))]
    return ", ".join(filter(None, shown))


def moments_of(timeline: Sequence[Mapping[str, Any]], reasons: Sequence[str]) -> Iterator[tuple[Any, str]]:
    """Yield time and message of each moment. An error is told once, and none of the reasons again."""
    before = ""
    for one in timeline:
        message = str(one["message"])
        failed, ended = _FAILED_ONCE.fullmatch(message), _ENDED.fullmatch(message)
        if message in reasons:
            continue
        if failed is not None and failed["why"] == before:
            message = message.removesuffix(f": {before}") + " in the same way"
        elif ended is not None and ended["why"] == before:
            message = "failed for good" if ended["count"] == "1" else f"failed for good after {ended['count']} attempts"
        before = failed["why"] if failed is not None else before
        yield one["time"], message


def clock_of(time: Any, now: datetime | None) -> str:
    """Return the time of a moment: on a terminal the local clock with milliseconds, and the day if it is another."""
    moment = read_moment(time)
    if now is None or moment is None:
        return printable(str(time))
    local = moment.astimezone()
    clock = f"{local:%H:%M:%S}.{local.microsecond // 1000:03d}"
    return clock if local.date() == now.astimezone().date() else f"{local:%a} {local.day} {local:%b} {clock}"


def in_local_times(message: Any, now: datetime | None) -> str:
    """Return a sentence of the API. On a terminal, its times are in words and of the local clock."""
    text = printable(str(message))
    return text if now is None else _INSTANT.sub(lambda found: _local(found, now), text)


def _local(found: re.Match[str], now: datetime) -> str:
    """Return a time with the word before it: "at 09:00" for today, "yesterday at 09:00" for another day."""
    moment = day_and_clock(datetime.fromisoformat(found["time"]), now)
    before = found["before"]
    if before is None:
        return moment
    if before == "since ":
        return before + moment.removeprefix("today ")
    day, _, clock = moment.rpartition(" ")
    return f"{before}{clock}" if day == "today" else f"{day} {before}{clock}"


# The facts about a job


def fields_of(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys((*_FIRST, *(name for name in job if name not in _LEFT_OUT))):
        if (value := job.get(name)) not in (None, "", [], {}):
            yield name, _text(value)


def facts_of(job: Mapping[str, Any], now: datetime) -> Iterator[tuple[str, str]]:
    made: tuple[tuple[str, Callable[[Mapping[str, Any], datetime], Any]], ...] = (
        ("name", lambda one, _: one.get("name")),
        ("job", lambda one, _: one.get("job_id")),
        ("about", lambda one, _: one.get("description")),
        ("status", lambda one, _: one.get("status")),
        ("why", _why),
        ("progress", lambda one, _: one.get("progress")),
        ("schedule", _schedule),
        ("next", _next),
        ("last", _last),
        ("outcomes", _before),
        ("runs", lambda one, _: f"{one['runs']:,}" if one.get("runs") else None),
        ("target", lambda one, _: _target(one.get("target"))),
        ("payload", lambda one, _: _text(one.get("payload"))),
        ("result", lambda one, _: _text(one.get("result"))),
        ("queue", lambda one, _: f"{one['pool']}, {str(one['priority']).lower()}" if one.get("pool") else None),
        ("gates", lambda one, _: ", ".join(map(_text, one.get("gates") or ()))),
        ("after", lambda one, _: ", ".join(one.get("dependencies") or ())),
        ("workflow", lambda one, _: one.get("workflow_id")),
        ("tags", lambda one, _: ", ".join(f"{name}={value}" for name, value in (one.get("tags") or {}).items())),
    )
    for title, make in made:
        if value := make(job, now):
            yield title, str(value)
    for number, change in enumerate((job.get("changes") or ())[:MOST_CHANGES]):
        yield "" if number else "changes", _change(change, now)


def _why(job: Mapping[str, Any], _: datetime) -> str | None:
    """None if the latest run has the same reason."""
    reason = job.get("reason")
    return None if reason == (job.get("last_outcome") or {}).get("reason") else reason


def _schedule(job: Mapping[str, Any], now: datetime) -> str | None:
    if job.get("on_event"):
        return f"on events that match {_text(job['on_event'])}"
    if job.get("cron"):
        return f"{schedule_in_words(dict(job), now)} (cron {job['cron']})"
    return schedule_in_words(dict(job), now) if job.get("every") else None


def _next(job: Mapping[str, Any], now: datetime) -> str | None:
    moment = read_moment(job.get("next_fire_time"))
    return None if moment is None or job.get("status") == "PAUSED" else in_full(moment, now)


def _last(job: Mapping[str, Any], now: datetime) -> str | None:
    last = job.get("last_outcome")
    if last is None:
        moment = read_moment(job.get("last_run"))
        return None if moment is None else f"started {in_full(moment, now)}{_late(job, '')}"
    moment = read_moment(last.get("finished_at"))
    why = "" if last.get("reason") is None else f": {last['reason']}"
    when = "" if moment is None else f" {in_full(moment, now)}"
    return f"{str(last.get('status')).lower()}{when}{_late(last)}{why}"


def _late(run: Mapping[str, Any], verb: str = "started ") -> str:
    """Leave out the lateness of a run that never started."""
    late = run.get("lateness_ms")
    return "" if late is None else f", {verb}{briefly(late / 1000)} late"


def _before(job: Mapping[str, Any], _: datetime) -> str | None:
    outcomes = [str(one) for one in job.get("outcomes") or ()]
    marks = "".join(_MARKS.get(one, "·") for one in outcomes)
    failed = outcomes.count("FAILED")
    return f"{marks}  {failed:,} of the latest {len(outcomes):,} failed" if len(outcomes) > 1 else None


def _change(change: Mapping[str, Any], now: datetime) -> str:
    moment = read_moment(change.get("at"))
    by = "" if change.get("by") is None else f" by {change['by']}"
    fields = f": {', '.join(change['fields'])}" if change.get("fields") else ""
    action = _DONE.get(str(change.get("action")), change.get("action"))
    return f"{action}{by}{'' if moment is None else f' {distance(moment, now)}'}{fields}"


def _target(target: Any) -> str | None:
    if not isinstance(target, dict):
        return None if target is None else _text(target)
    if target.get("type") == "http":
        return f"{target.get('method', 'POST')} {target.get('url')}"
    return " ".join(_text(value) for value in target.values() if isinstance(value, str | list))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
