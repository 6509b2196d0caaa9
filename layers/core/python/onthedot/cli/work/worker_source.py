"""Find where a worker gets its work: from the REST API at a URL, or from the table and the queues."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import click

from onthedot.cli.where import LOCAL_STAGE, checked_api, local_stack, stage_environment
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace
from onthedot.ports import Engine
from onthedot.settings import BadSettings, WorkerSettings
from onthedot.worker.rest_source import RestClient, RestWorkSource
from onthedot.worker.work_source import WorkSource

TABLE: Final = "ONTHEDOT_TABLE"
CALLS_ROLE: Final = "ONTHEDOT_CALLS_ROLE"
"""Chooses another role for jobs' AWS calls than the stage does. Empty: the worker's own credentials."""
OTHERWISE: Final = "name an API with --url"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


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


def choose_source(pool: str, *, url: str | None, token: str | None, direct: bool, stage: str | None) -> ChosenSource:
    """Return the source that the options name, else the one that the environment names, else the one of `local.json`.

    Remove the token from the environment, so that no program that the worker starts inherits it.
    """
    environment_token = os.environ.pop(TOKEN, None)
    if stage is not None and not direct:
        raise click.UsageError("--stage is for --direct; without it use --url")
    if direct:
        if url or token:
            raise click.UsageError("either --direct, or --url and --token")
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
