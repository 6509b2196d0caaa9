"""`onthedot explain`: say why a job has not run, or what it does now, as a short story."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, missing_job, print_unchanged
from onthedot.cli.common.moments import this_moment
from onthedot.cli.common.names import JobName, job_named
from onthedot.cli.common.running import progress_in_words
from onthedot.cli.jobs.story import clock_of, in_local_times, moments_of
from onthedot.cli.limit_text import is_for_people, print_next
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

_COMMANDS: Final = {
    "resume": "onthedot resume {job}",
    "run_now": "onthedot run {job}",
    "redrive": "onthedot redrive --job {job}",
    "check_ticks": "onthedot doctor",
    "open_stage": "onthedot thaw",
    "allow_overlap": "onthedot get {job}",
    "lift_limit": "{limits}",
}
"""The command that does what `what_if` speaks of. The sentences about workers name theirs."""
_RUNNING: Final = "running"


@click.command()
@click.argument("job_id", metavar="JOB", type=JobName())
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer of GET /v1/jobs/{id}/explain unchanged.")
def explain(job_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Say why a job has not run, or what it does now.

    The first sentence is the reason that stops the job. Then come the story of its latest run, and what would happen
    if the job were resumed, run or redriven now, or a limit lifted. Exit code 4: there is no such job.

    \b
    Example:
      onthedot explain job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    wanted, job_id = job_id, job_named(job_id, url, token)
    api = Documents(url, token)
    answer = api.ask(requests.explain(job_id), missing_job(job_id))
    if as_json:
        print_unchanged(answer)
        return
    _print(answer, _progress(api, answer), printable(wanted))


def _progress(api: Documents, answer: Mapping[str, Any]) -> str:
    """Return how far the run is that goes on now. A call that fails leaves it out: the reason is known."""
    if not any(reason["code"] == _RUNNING for reason in answer["reasons"]):
        return ""
    try:
        found = api.ask(requests.executions(None, job=answer["job_id"], status="RUNNING"))["executions"]
    except click.ClickException:
        return ""
    return progress_in_words(found[0], this_moment()) if found else ""


def _print(answer: Mapping[str, Any], progress: str, wanted: str) -> None:
    """Print each sentence whole on a line: a command in it must not be broken."""
    now = this_moment() if is_for_people() else None
    messages = [str(reason["message"]) for reason in answer["reasons"]] or ["nothing is known about it"]
    first, *others = [in_local_times(message, now) for message in messages]
    name = printable(str(answer.get("name") or answer["job_id"]))
    click.secho(f"{name} is {printable(str(answer['status']))}: {first}", bold=True)
    for message in (progress, *others):
        if message:
            click.echo(f"  {message}")
    for time, message in moments_of(answer.get("timeline") or (), messages):
        click.echo(f"  {clock_of(time, now)}  {in_local_times(message, now)}")
    _print_end(answer, now, wanted)


def _print_end(answer: Mapping[str, Any], now: datetime | None, wanted: str) -> None:
    """Print what actions would do, and the commands for them."""
    actions: Sequence[Mapping[str, Any]] = answer.get("what_if") or ()
    for one in actions:
        click.echo(in_local_times(one["message"], now))
    commands = [_COMMANDS[one["action"]] for one in actions if one["action"] in _COMMANDS]
    filled = [command.format(job=wanted, limits=_limits(actions)) for command in commands]
    print_next(*filled, f"onthedot executions {wanted}")


def _limits(actions: Sequence[Mapping[str, Any]]) -> str:
    """Return the command that shows the gate or the limits of the tenant that a sentence about a limit names."""
    words = [str(one["message"]).split() for one in actions if one["action"] == "lift_limit"]
    for kind, command in (("gate", "gates show"), ("tenant", "limits show")):
        for sentence in words:
            if kind in sentence[:-1]:
                return f"onthedot {command} {printable(sentence[sentence.index(kind) + 1])}"
    return "onthedot gates list"
