"""`onthedot serve`: the whole scheduler in one process, without AWS."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from onthedot.cli.output import print_document
from onthedot.cli.process import app_handlers, app_options, grace_option, set_up_logging
from onthedot.serve.home import BadPlace, home_from, port_from
from onthedot.targets import rules
from onthedot.worker.target_factories import TargetOptions

if TYPE_CHECKING:
    from onthedot.serve.server import Ready, ServeOptions


@click.command()
@click.option(
    "--data", metavar="PATH", help="Folder of the data, or a file that ends in .db.  [default: .onthedot/serve]"
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on.  [default: ONTHEDOT_PORT, or 4566]")
@click.option(
    "--concurrency",
    default=32,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="How many runs at a time.",
)
@app_options
@click.option(
    "--token", envvar="ONTHEDOT_SERVE_TOKEN", metavar="TOKEN", help="The admin's token.  [default: the previous one]"
)
@click.option(
    "--allow", metavar="FILE", type=click.File(), help="JSON file of the functions and AWS calls that jobs may use."
)
@click.option(
    "--allow-private/--refuse-private",
    default=None,
    help="Whether jobs may call loopback and private addresses.  [default: only if --host is loopback]",
)
@grace_option
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines, and print the URL and the token as JSON.")
def serve(**options: Any) -> None:
    """Run the whole scheduler in one process.

    All data is in one SQLite file, and a job is on disk before it is accepted. ONTHEDOT_HOME is the folder for the data
    and for `local.json`, by which the other commands find the server.

    \b
    Example:
      onthedot serve --app my_app.jobs --port 4600
    """
    from onthedot.serve.server import serve as run  # noqa: PLC0415 - needs the packages of an extra

    as_json = bool(options.pop("as_json"))
    set_up_logging(as_json=as_json)
    try:
        run(_options(**options), lambda ready: _show(ready, as_json=as_json))
    except BadPlace as error:
        raise click.ClickException(str(error)) from error


def _options(  # noqa: PLR0917 - one parameter for each option
    data: str | None,
    host: str,
    port: int | None,
    concurrency: int,
    app: str | None,
    shell: bool,
    token: str | None,
    allow: Any,
    allow_private: bool | None,
    grace: float,
) -> "ServeOptions":
    from onthedot.serve.server import ServeOptions, is_loopback  # noqa: PLC0415 - as above

    if token is not None and (len(token) < 16 or not (token.isascii() and token.isprintable()) or " " in token):
        raise click.UsageError("--token needs at least 16 characters, without spaces")
    app_handlers(app)  # an app that is broken is found here, and not by each of its jobs
    private = is_loopback(host) if allow_private is None else allow_private
    return ServeOptions(
        home_from(os.environ, data),
        host,
        port_from(os.environ) if port is None else port,
        concurrency,
        grace,
        token,
        TargetOptions(allow_private=private, shell=shell, app=app),
        _allow_list(allow),
    )


def _allow_list(file: Any) -> rules.AllowList:
    if file is None:
        return rules.AllowList()
    try:
        return rules.from_json(json.load(file))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(f"--allow: {file.name} is not an allow-list: {error}") from error


def _show(ready: "Ready", *, as_json: bool) -> None:
    if as_json:
        place = {"api_url": ready.url, "console": f"{ready.url}/console", "token": ready.token}
        print_document({"action": "ready", **place, "pid": os.getpid()})
        return
    click.echo(f"{click.style('onthedot', bold=True)} serves at {click.style(ready.url, fg='cyan')}")
    click.echo(f"  console {click.style(f'{ready.url}/console', fg='cyan')}\n  token {ready.token}")
    click.secho("  durable: an accepted job is on disk (synchronous=FULL, shared commits)", dim=True)
    click.secho("  Ctrl-C stops it; running jobs get time to finish", dim=True)
