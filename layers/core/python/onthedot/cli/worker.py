"""`onthedot worker`: be a pull worker, on a laptop, a server or Fargate. Also the entry command of our image."""

import json
import os
import socket
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import click

from onthedot.cli.where import reaching
from onthedot.cli.worker_home import Home, find_home
from onthedot.cli.worker_log import set_up_logging
from onthedot.cli.worker_signals import run_until_stopped
from onthedot.clock import SystemClock
from onthedot.domain.workers.records import Resources
from onthedot.targets.processes.python_process import AppBroken
from onthedot.targets.router import TargetRouter
from onthedot.use_cases.workers.worker_registry import Offer
from onthedot.worker import target_factories
from onthedot.worker.runtime import Pace, Runtime
from onthedot.worker.work_source import NotAllowed


@dataclass(frozen=True, slots=True)
class _WorkerOptions:
    """The options, as the command line has them."""

    pool: str
    app: str | None
    shell: bool
    aws: bool
    capability: tuple[str, ...]
    concurrency: int
    cpu: float
    memory_mb: int
    worker_id: str | None


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_mb() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)


@click.command()
@click.option("--pool", default="pull", show_default=True, metavar="NAME", help="Whose runs to take.")
@click.option("--app", metavar="MODULE", help="Run its @job handlers; found from the current directory.")
@click.option("--shell", is_flag=True, help="Run programs that jobs name, as this user.")
@click.option("--aws", is_flag=True, help="Call functions and AWS for jobs, with this worker's credentials.")
@click.option("--capability", multiple=True, metavar="NAME", help="Something jobs may require; may be repeated.")
@click.option(
    "--concurrency",
    "--slots",
    "concurrency",
    default=4,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Runs at the same time.",
)
@click.option("--cpu", type=click.FloatRange(0), help="CPUs to share among runs.  [default: all]")
@click.option("--memory-mb", type=click.IntRange(0), help="Memory to share among runs.  [default: all]")
@click.option("--grace", default=25.0, show_default=True, type=click.FloatRange(0), help="Seconds to finish in.")
@click.option("--url", metavar="URL", help="Of the API.  [default: ONTHEDOT_URL, or the local stack]")
@click.option("--token", metavar="TOKEN", help="For the API; better given as ONTHEDOT_TOKEN.")
@click.option("--direct", is_flag=True, help="Work on the tables and queues, with AWS credentials.")
@click.option("--stage", metavar="NAME", help="With --direct: an installation of your account.")
@click.option("--worker-id", metavar="ID", help="A name of its own.  [default: it is given one]")
@click.option("--allow-private", is_flag=True, help="Let jobs call loopback and private addresses.")
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines.")
def worker(  # noqa: PLR0917 - one parameter for each option
    url: str | None,
    token: str | None,
    direct: bool,
    stage: str | None,
    grace: float,
    allow_private: bool,
    as_json: bool,
    cpu: float | None,
    memory_mb: int | None,
    **options: Any,
) -> None:
    """Take runs from a pull pool, run them side by side, and report what became of each.

    SIGTERM and SIGINT: it takes nothing more, finishes within the grace, and hands back the rest; a second one ends
    it at once.
    """
    set_up_logging(as_json=as_json)
    if token and options["shell"]:
        raise click.UsageError("with --shell give the token as ONTHEDOT_TOKEN: programs can read this command line")
    options["shell"] = options["shell"] or "shell" in options["capability"]
    wanted = _WorkerOptions(
        cpu=_cpus() if cpu is None else cpu, memory_mb=_memory_mb() if memory_mb is None else memory_mb, **options
    )
    home = find_home(wanted.pool, url=url, token=token, direct=direct, stage=stage)
    tools = target_factories.TargetOptions(allow_private or home.allow_private, wanted.shell, wanted.app)
    graphs = {} if home.engine is None else target_factories.engine_factories(home.engine)
    factories = {**target_factories.factories(tools, SystemClock()), **graphs, **_aws(home, wanted)}
    offer = _offer(wanted, list(factories))
    ready = _ready(offer, home, as_json=as_json)
    runtime = Runtime(home.source, TargetRouter(factories), offer, Pace(grace=grace), on_ready=ready)
    try:
        # Those who do without AWS also do without its library.
        with reaching(home.name) if home.engine else nullcontext():
            run_until_stopped(runtime)
    except NotAllowed as error:
        raise click.ClickException(str(error)) from error


def _aws(home: Home, wanted: _WorkerOptions) -> Any:
    if not wanted.aws:
        return {}
    if home.engine is None:
        raise click.UsageError("--aws needs a worker with AWS credentials of its own; add --direct")
    from onthedot.wiring.aws import aws_factories  # noqa: PLC0415 - boto3 would slow down those who do without

    return aws_factories(home.engine)


def _offer(wanted: _WorkerOptions, types: list[str]) -> Offer:
    return Offer(
        pool=wanted.pool,
        capabilities=target_factories.capabilities(types, _handlers(wanted.app), wanted.capability),
        resources=Resources(wanted.concurrency, wanted.cpu, wanted.memory_mb),
        worker_id=wanted.worker_id,
        host=socket.gethostname(),
    )


def _handlers(app: str | None) -> list[str]:
    if app is None:
        return []
    from onthedot.targets.processes.python_runner import handlers_of  # noqa: PLC0415 - only workers with an app need it

    try:
        found = handlers_of(app)
    except AppBroken as error:
        raise click.ClickException(str(error)) from error
    if not found:
        raise click.ClickException(f'{app} marks no handler; mark one with @job("name")')
    return found


def _ready(offer: Offer, home: Home, *, as_json: bool) -> Any:
    def tell(worker_id: str) -> None:
        can = sorted(offer.capabilities)
        if as_json:
            told = {
                "worker_id": worker_id,
                "pool": offer.pool,
                "capabilities": can,
                "slots": offer.resources.concurrency,
            }
            click.echo(json.dumps({"action": "ready", **told, "from": home.name}))
        else:
            slots = f"{offer.resources.concurrency} slot{'s' if offer.resources.concurrency > 1 else ''}"
            click.echo(f"{worker_id} is ready: pool {offer.pool}, {slots}, can {', '.join(can)}; work from {home.name}")

    return tell
