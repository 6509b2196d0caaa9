"""`onthedot worker`: run a pull worker on a laptop, a server or Fargate. The worker image starts this command."""

import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from onthedot.cli import process
from onthedot.cli.credentials import LOCAL_STAGE, aws_errors_in_a_sentence, stage_environment, worker_settings
from onthedot.cli.documents import LOOPBACK, find_api
from onthedot.cli.lazy_group import MissingExtra
from onthedot.cli.options import api_options
from onthedot.cli.output import print_document
from onthedot.cli.process import run_until_stopped, wait_or_stop
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace
from onthedot.core.clock import SystemClock
from onthedot.engine import Engine
from onthedot.targets.router import TargetRouter
from onthedot.worker import target_factories
from onthedot.worker.rest_source import RestClient, RestWorkSource
from onthedot.worker.runtime import Pace, Runtime
from onthedot.worker.task_protection import AGENT_VARIABLE, EcsAgent
from onthedot.worker.work_source import NotAllowed, WorkSource
from onthedot.workers.records import Resources
from onthedot.workers.registrations import Offer

TABLE: Final = "ONTHEDOT_TABLE"
CALLS_ROLE: Final = "ONTHEDOT_CALLS_ROLE"
"""Chooses another role for jobs' AWS calls than the stage does. Empty: the worker's own credentials."""
REFUSED_SECONDS: Final = 120.0
"""How long a refused worker stays on ECS, which starts another one at once and bills at least a minute for each.

A new Fargate pool with a shell has no token yet, and its first deployment succeeds only if its task stays for a while.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChosenSource:
    """A work source, and the settings of a worker that depend on where this source is."""

    name: str
    source: WorkSource
    allow_private: bool = False
    """Whether jobs may call loopback and private addresses."""
    engine: Engine | None = None
    """The engine of a worker with AWS credentials. None for a worker that uses the API."""
    calls_role: str = ""
    """The role that a worker with AWS credentials assumes for jobs' calls. Empty: it uses its own credentials."""


@click.command()
@click.option("--pool", default="pull", show_default=True, metavar="NAME", help="The pool to take runs from.")
@process.app_options
@click.option("--aws", is_flag=True, help="Make jobs' Lambda and AWS calls, with the stage's role.")
@click.option(
    "--capability", multiple=True, metavar="NAME", help="A capability that jobs may require; may be repeated."
)
@click.option(
    "--concurrency",
    "--slots",
    "concurrency",
    default=4,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="How many runs at a time.",
)
@click.option("--cpu", type=click.FloatRange(0), help="CPUs to share among runs.  [default: all]")
@click.option("--memory-mb", type=click.IntRange(0), help="Memory to share among runs.  [default: all]")
@click.option("--storage-mb", type=click.IntRange(0), help="Disk to share among runs.  [default: all that is free]")
@process.grace_option
@api_options
@click.option("--direct", is_flag=True, help="Use the table and the queues instead of the API, with AWS credentials.")
@click.option("--stage", metavar="NAME", help="With --direct: a deployment in your account.  [default: local]")
@click.option("--worker-id", metavar="ID", help="A fixed id.  [default: a new one at each start]")
@click.option("--allow-private", is_flag=True, help="Let jobs call loopback and private addresses.")
@click.option("--json", "as_json", is_flag=True, help="Log JSON lines.")
def worker(
    *, app: str | None, shell: bool, aws: bool, allow_private: bool, grace: float, as_json: bool, **given: Any
) -> None:
    """Take runs from a pull pool and execute them in parallel.

    After SIGTERM or SIGINT, the worker takes no more runs. Its current runs get --grace seconds to finish; those that
    take longer are handed back. A second signal ends it at once.

    \b
    Example:
      onthedot worker --pool batch --app my_app.jobs --concurrency 8
    """
    process.set_up_logging(as_json=as_json)
    if given["token"] and shell:
        raise click.UsageError("with --shell give the token as ONTHEDOT_TOKEN: programs can read this command line")
    origin = choose_source(given["pool"], **{name: given[name] for name in ("url", "token", "direct", "stage")})
    targets = target_factories.TargetOptions(
        allow_private or origin.allow_private, shell or "shell" in given["capability"], app
    )
    factories = _factories(targets, origin, given["capability"], aws=aws)
    offer = Offer(
        pool=given["pool"],
        capabilities=target_factories.capabilities(list(factories), process.app_handlers(app), given["capability"]),
        resources=_resources(given),
        worker_id=given["worker_id"],
        host=socket.gethostname(),
    )
    # The role of a worker that uses the API has no grants: it may run programs of others, who could use them.
    agent_uri = os.environ.get(AGENT_VARIABLE)
    agent = EcsAgent(agent_uri) if agent_uri and origin.engine is not None else None
    ready = _ready(offer, origin, as_json=as_json)
    runtime = Runtime(origin.source, TargetRouter(factories), offer, Pace(grace=grace), agent=agent, on_ready=ready)
    try:
        # A worker that only uses the API runs without the AWS packages.
        with aws_errors_in_a_sentence(origin.name) if origin.engine else nullcontext():
            run_until_stopped(runtime)
    except NotAllowed as error:
        if agent_uri is not None:
            log.warning("%s; ending in %.0f s, so that ECS does not start a task each second", error, REFUSED_SECONDS)
            wait_or_stop(REFUSED_SECONDS)
        raise click.ClickException(str(error)) from error


def _resources(given: Mapping[str, Any]) -> Resources:
    """All that this machine has, unless options say less."""
    cpu, memory_mb, storage_mb = (given[name] for name in ("cpu", "memory_mb", "storage_mb"))
    if cpu is None:
        cpu = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if memory_mb is None:
        memory_mb = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)
    if storage_mb is None:
        # The working directory and those of programs may be on different disks.
        storage_mb = min(shutil.disk_usage(at).free // 2**20 for at in (Path.cwd(), Path(tempfile.gettempdir())))
    return Resources(given["concurrency"], cpu, memory_mb, storage_mb)


def _factories(
    targets: target_factories.TargetOptions, origin: ChosenSource, capabilities: tuple[str, ...], *, aws: bool
) -> dict[str, Any]:
    factories: dict[str, Any] = {**target_factories.factories(targets, SystemClock())}
    if "grpc" in capabilities and "grpc" not in factories:
        raise MissingExtra("onthedot worker --capability grpc", "grpc")
    if origin.engine is not None:
        factories |= target_factories.engine_factories(origin.engine)
    if not aws:
        return factories
    if origin.engine is None:
        raise click.UsageError("--aws needs a worker with AWS credentials of its own; add --direct")
    from onthedot.wiring.workers import aws_factories  # noqa: PLC0415 - needs the AWS packages

    return {**factories, **aws_factories(origin.engine, origin.calls_role)}


def _ready(offer: Offer, origin: ChosenSource, *, as_json: bool) -> Callable[[str], None]:
    capabilities, concurrency = sorted(offer.capabilities), offer.resources.concurrency

    def show(worker_id: str) -> None:
        if as_json:
            what = {"pool": offer.pool, "capabilities": capabilities}
            most = {"concurrency": concurrency, "slots": concurrency}
            print_document({"action": "ready", "worker_id": worker_id, **what, **most, "from": origin.name})
        else:
            what_it_can = f"pool {offer.pool}, concurrency {concurrency}, can {', '.join(capabilities)}"
            click.echo(f"{worker_id} is ready: {what_it_can}; work from {origin.name}")

    return show


def choose_source(pool: str, *, url: str | None, token: str | None, direct: bool, stage: str | None) -> ChosenSource:
    """Return the source that the options name, else the one that the environment names, else the one of `local.json`.

    Remove the token from the environment, so that no program that the worker starts inherits it.
    """
    environment_token = os.environ.pop(TOKEN, None)
    if stage is not None and not direct:
        raise click.UsageError("--stage is for --direct; without it use --url")
    if direct:
        if url or token:
            raise click.UsageError("give either --direct, or --url and --token")
        return _direct(pool, stage)
    address = url or os.environ.get(URL)
    if address is None and TABLE in os.environ:
        return _from_settings(pool, os.environ)
    return _rest(find_api(address, token or (environment_token if address else None)))


def _rest(api: ApiPlace) -> ChosenSource:
    # A worker for an API on this machine may call other servers on this machine.
    here = api.is_local or urlsplit(api.url).hostname in LOOPBACK
    return ChosenSource(api.url, RestWorkSource(RestClient(api.url, api.token)), allow_private=here)


def _direct(pool: str, stage: str | None) -> ChosenSource:
    if stage is None and TABLE in os.environ:
        return _from_settings(pool, os.environ)
    chosen = {CALLS_ROLE: os.environ[CALLS_ROLE]} if CALLS_ROLE in os.environ else {}
    return _from_settings(pool, {**stage_environment(stage or LOCAL_STAGE), **chosen})


def _from_settings(pool: str, environment: Mapping[str, str]) -> ChosenSource:
    from onthedot.wiring.workers import direct_source  # noqa: PLC0415 - needs the AWS packages

    settings = worker_settings(environment)
    source, engine = direct_source(settings, pool)
    return ChosenSource(f"table {settings.table}", source, settings.allow_private_targets, engine, settings.calls_role)
