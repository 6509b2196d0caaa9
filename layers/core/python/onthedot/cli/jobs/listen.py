"""`onthedot listen`: receive the HTTP calls of jobs and show each one with its lateness."""

import errno
import json
from contextlib import suppress
from typing import Any, Final

import click

from onthedot.cli.jobs.listen_server import Arrival, ListenServer
from onthedot.cli.text import printable, short
from onthedot.domain.instants import format_instant, moment_of

FINE_MS: Final = 1_000
POOR_MS: Final = 10_000


@click.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="End after N requests.  [default: Ctrl-C ends it]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each request.")
def listen(port: int, host: str, count: int | None, as_json: bool) -> None:
    """Receive the HTTP calls of jobs and show how late they are.

    It answers 200 to every request. Lateness is the time from the fire time of the run to the arrival of its request.

    \b
    Example, with the token that `onthedot serve` printed:
      onthedot listen
      curl "$ONTHEDOT_URL/v1/jobs" -H "Authorization: Bearer $ONTHEDOT_TOKEN" \\
        -d '{"callback_url": "http://127.0.0.1:8000/hello", "delay": 3, "payload": {"user": 42}}'
    """
    server = _bound(host, port)
    with server.serving(), suppress(KeyboardInterrupt):
        click.secho(f"Listening on {server.url}. Ctrl-C ends it.", err=True, dim=True)
        shown = 0
        while count is None or shown < count:
            arrival = server.next_arrival()
            click.echo(json.dumps(as_document(arrival)) if as_json else as_text(arrival))
            shown += 1


def _bound(host: str, port: int) -> ListenServer:
    try:
        return ListenServer(
            host, port, refused=lambda why: click.secho(f"refused: {printable(why)}", err=True, dim=True)
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise click.ClickException(f"port {port} is taken; choose another one with --port") from error
        raise click.ClickException(f"cannot listen on {host} port {port}: {error.strerror}") from error


def as_document(arrival: Arrival) -> dict[str, Any]:
    """Return the request for programs."""
    return {
        "time": format_instant(arrival.at),
        "method": arrival.method,
        "path": arrival.path,
        "job_id": arrival.job_id,
        "run_id": arrival.run_id,
        "attempt": arrival.attempt,
        "fire_time": None if arrival.fire_at is None else format_instant(arrival.fire_at),
        "lateness_ms": arrival.lateness_ms,
        "payload": arrival.payload,
    }


def as_text(arrival: Arrival) -> str:
    """Return the request for people, in a few lines."""
    clock = moment_of(arrival.at).astimezone()
    request = click.style(f"{arrival.method} {short(printable(arrival.path))}", bold=True)
    lines = [f"{clock:%H:%M:%S}.{arrival.at % 1000:03}  {request}  {_lateness(arrival.lateness_ms)}"]
    lines += [f"{click.style(f'{name:>12}', dim=True)}  {value}" for name, value in _details(arrival).items()]
    return "\n".join(lines)


def _details(arrival: Arrival) -> dict[str, str]:
    details = {"job": printable(arrival.job_id or "")}
    if arrival.run_id != arrival.job_id:
        details["run"] = printable(arrival.run_id or "")
    details["attempt"] = "" if arrival.attempt is None else str(arrival.attempt)
    if arrival.body:
        payload = arrival.payload
        details["payload"] = short(
            printable(payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False))
        )
    return {name: value for name, value in details.items() if value}


def _lateness(lateness: int | None) -> str:
    if lateness is None:
        return click.style("not from a job: it has no X-Onthedot-Fire-Time", fg="yellow")
    if lateness < 0:
        return click.style(f"{-lateness:,} ms early", fg="red")
    colour = "green" if lateness < FINE_MS else "yellow" if lateness < POOR_MS else "red"
    return click.style(f"{lateness:,} ms late", fg=colour)
