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

from onthedot.cli.common.output import print_document
from onthedot.cli.credentials import LOCAL_STAGE, aws_errors_in_a_sentence, stage_environment
from onthedot.cli.lazy_group import MissingExtra
from onthedot.cli.where import api_options, checked_api, local_stack
from onthedot.cli.work.process import (
    app_handlers,
    app_options,
    grace_option,
    run_until_stopped,
    set_up_logging,
    wait_or_stop,
)
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace
from onthedot.clock import SystemClock
from onthedot.domain.workers.records import Resources
from onthedot.ports import Engine, Performer
from onthedot.settings import BadSettings, WorkerSettings
from onthedot.targets.router import TargetRouter
from onthedot.use_cases.workers.worker_registry import Offer
from onthedot.worker import target_factories
from onthedot.worker.rest_client import RestClient
from onthedot.worker.rest_source import RestWorkSource
from onthedot.worker.runtime import Pace, Runtime
from onthedot.worker.task_protection import AGENT_VARIABLE, EcsAgent
from onthedot.worker.work_source import NotAllowed, WorkSource

TABLE: Final = "ONTHEDOT_TABLE"
CALLS_ROLE: Final = "ONTHEDOT_CALLS_ROLE"
"""Chooses another role for jobs' AWS calls than the stage does. Empty: the worker's own credentials."""
OTHERWISE: Final = "name an API with --url"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
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


@dataclass(frozen=True, slots=True)
class _WorkerOptions:
    """The options that describe the worker and its work."""

    pool: str
    app: str | None
    shell: bool
    aws: bool
    capability: tuple[str, ...]
    concurrency: int
    cpu: float
    memory_mb: int
    storage_mb: int
    worker_id: str | None


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_mb() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20)


def _storage_mb() -> int:
    """Return the free space on the disks of the working directory and of the programs' directories: the smaller one."""
    places = (Path.cwd(), Path(tempfile.gettempdir()))
    return min(shutil.disk_usage(place).free // 2**20 for place in places)


@click.command()
@click.option("--pool", default="pull", show_default=True, metavar="NAME", help="The pool whose runs to take.")
@app_options
@click.option(
    "--aws", is_flag=True, help="Call Lambda and other AWS services for jobs, with the stage's role for that."
)
@click.option(
    "--capability", multiple=True, metavar="NAME", help="A capability that jobs may require. May be repeated."
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
@grace_option
@api_options
@click.option("--direct", is_flag=True, help="Use the table and the queues instead of the API, with AWS credentials.")
@click.option("--stage", metavar="NAME", help="With --direct: a deployment in your account.")
@click.option("--worker-id", metavar="ID", help="A fixed id.  [default: a new one at each start]")
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
    storage_mb: int | None,
    **options: Any,
) -> None:
    """Take runs from a pull pool and run them side by side.

    After SIGTERM or SIGINT the worker takes no more runs. Its present runs get --grace seconds to finish; it hands back
    those that do not. A second signal ends it at once.

    \b
    Example:
      onthedot worker --pool batch --app my_app.jobs --concurrency 8
    """
    set_up_logging(as_json=as_json)
    if token and options["shell"]:
        raise click.UsageError("with --shell give the token as ONTHEDOT_TOKEN: programs can read this command line")
    options["shell"] = options["shell"] or "shell" in options["capability"]
    chosen = _WorkerOptions(
        cpu=_cpus() if cpu is None else cpu,
        memory_mb=_memory_mb() if memory_mb is None else memory_mb,
        storage_mb=_storage_mb() if storage_mb is None else storage_mb,
        **options,
    )
    origin = choose_source(chosen.pool, url=url, token=token, direct=direct, stage=stage)
    target_options = target_factories.TargetOptions(allow_private or origin.allow_private, chosen.shell, chosen.app)
    factories = _factories(target_options, origin, chosen)
    offer = _offer(chosen, list(factories))
    ready = _ready(offer, origin, as_json=as_json)
    agent = _agent(origin)
    runtime = Runtime(origin.source, TargetRouter(factories), offer, Pace(grace=grace), agent=agent, on_ready=ready)
    try:
        # A worker that uses the API only runs without the AWS packages.
        with aws_errors_in_a_sentence(origin.name) if origin.engine else nullcontext():
            run_until_stopped(runtime)
    except NotAllowed as error:
        if AGENT_VARIABLE in os.environ:
            log.warning("%s; ending in %.0f s, so that ECS does not start a task each second", error, REFUSED_SECONDS)
            wait_or_stop(REFUSED_SECONDS)
        raise click.ClickException(str(error)) from error


def _agent(origin: ChosenSource) -> EcsAgent | None:
    """Return the agent of the ECS task in which this worker runs, if its role may protect the task.

    The role of a worker that uses the API has no grants: it may run programs of others, who could use them.
    """
    uri = os.environ.get(AGENT_VARIABLE)
    return EcsAgent(uri) if uri and origin.engine is not None else None


def _factories(
    target_options: target_factories.TargetOptions, origin: ChosenSource, chosen: _WorkerOptions
) -> dict[str, Callable[[], Performer]]:
    """Return a factory for each target type that this worker offers."""
    factories = target_factories.factories(target_options, SystemClock())
    if "grpc" in chosen.capability and "grpc" not in factories:
        raise MissingExtra("onthedot worker --capability grpc", "grpc")
    graphs = {} if origin.engine is None else target_factories.engine_factories(origin.engine)
    return {**factories, **graphs, **_aws(origin, chosen)}


def _aws(origin: ChosenSource, chosen: _WorkerOptions) -> Any:
    if not chosen.aws:
        return {}
    if origin.engine is None:
        raise click.UsageError("--aws needs a worker with AWS credentials of its own; add --direct")
    from onthedot.wiring.workers import aws_factories  # noqa: PLC0415 - needs the AWS packages

    return aws_factories(origin.engine, origin.calls_role)


def _offer(chosen: _WorkerOptions, types: list[str]) -> Offer:
    return Offer(
        pool=chosen.pool,
        capabilities=target_factories.capabilities(types, app_handlers(chosen.app), chosen.capability),
        resources=Resources(chosen.concurrency, chosen.cpu, chosen.memory_mb, chosen.storage_mb),
        worker_id=chosen.worker_id,
        host=socket.gethostname(),
    )


def _ready(offer: Offer, origin: ChosenSource, *, as_json: bool) -> Callable[[str], None]:
    """Return a function that prints that the worker is ready."""
    capabilities, concurrency = sorted(offer.capabilities), offer.resources.concurrency

    def show(worker_id: str) -> None:
        if as_json:
            what = {"pool": offer.pool, "capabilities": capabilities}
            most = {"concurrency": concurrency, "slots": concurrency}
            print_document({"action": "ready", "worker_id": worker_id, **what, **most, "from": origin.name})
        else:
            offered_text = f"pool {offer.pool}, concurrency {concurrency}, can {', '.join(capabilities)}"
            click.echo(f"{worker_id} is ready: {offered_text}; work from {origin.name}")

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
    if address := url or os.environ.get(URL):
        return _rest(checked_api(address, token or environment_token))
    if TABLE in os.environ:
        return _from_settings(pool, os.environ)
    stack = local_stack(OTHERWISE)
    return _rest(checked_api(stack["api_url"], token or stack["token"], is_local=True))


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

    try:
        settings = WorkerSettings.from_environment(environment)
    except BadSettings as error:
        raise click.ClickException(str(error)) from error
    source, engine = direct_source(settings, pool)
    return ChosenSource(f"table {settings.table}", source, settings.allow_private_targets, engine, settings.calls_role)
