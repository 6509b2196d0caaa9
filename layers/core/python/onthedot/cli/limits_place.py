"""Find the limits of tenants that a command works on: over REST, or in a table by AWS credentials."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

import click

from onthedot.cli.common.documents import Documents, encoded
from onthedot.cli.text import printable
from onthedot.cli.where import (
    Command,
    api_options,
    aws_errors_in_a_sentence,
    find_table,
    stage_environment,
    table_options,
)
from onthedot.domain.errors import InvalidRequest
from onthedot.domain.gates.limits import TenantLimits
from onthedot.domain.gates.names import tenant_gate
from onthedot.domain.runs.endings import TOMBSTONE_DAYS
from onthedot.ports import Engine
from onthedot.settings import AuditorSettings, BadSettings, WorkerSettings

PAGE: Final = 100


class LimitsPlace(Protocol):
    """The limits of the tenants of one stage, as documents of the API."""

    def put(self, tenant: str, limits: Mapping[str, Any]) -> dict[str, Any]:
        """Set all limits of a tenant and return them."""
        ...

    def clear(self, tenant: str) -> dict[str, Any]:
        """Remove all limits of a tenant."""
        ...

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield the limits of all tenants that have any."""
        ...


def place_options(command: Command) -> Command:
    """Add the options that say where the limits are, for `find_limits`."""
    stage = click.option("--stage", metavar="NAME", help="A deployment, reached with your AWS credentials.")
    return api_options(stage(table_options(command)))


def find_limits(
    *,
    url: str | None,
    token: str | None,
    stage: str | None,
    table: str | None,
    region: str | None,
    endpoint_url: str | None,
) -> LimitsPlace:
    """Return the limits at the place that the options name, else those of the API as `find_api` finds it."""
    if sum(place is not None for place in (url, stage, table)) > 1:
        raise click.UsageError("give one of --url, --stage and --table")
    if stage is not None:
        return _ByCredentials(engine_of_stage(settings_of_stage(stage)))
    if table is not None or region or endpoint_url:
        return _ByCredentials(_engine_of_table(*find_table(table, region, endpoint_url)))
    return _OverRest(Documents(url, token))


class _OverRest:
    """The limits over REST, with an admin's token."""

    def __init__(self, calls: Documents) -> None:
        self._calls = calls

    def put(self, tenant: str, limits: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._calls.put(_path(tenant), limits))

    def clear(self, tenant: str) -> dict[str, Any]:
        return dict(self._calls.delete(_path(tenant)))

    def all(self) -> Iterator[dict[str, Any]]:
        return self._calls.entries("/v1/limits", "limits")


class _ByCredentials:
    """The limits in a table, by the use cases that the API calls."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, tenant: str, limits: Mapping[str, Any]) -> dict[str, Any]:
        from onthedot.api.limits.show import tenant_limits_view  # noqa: PLC0415 - REST does not need it
        from onthedot.use_cases.gates.put_limits import put_limits  # noqa: PLC0415 - as above
        from onthedot.use_cases.gates.show_gates import use_of  # noqa: PLC0415 - as above

        values = TenantLimits(**limits)
        with _errors_in_a_sentence():
            values = put_limits(self._engine, tenant, values)
            use = use_of(self._engine, tenant_gate(tenant))
        return dict(tenant_limits_view(tenant, values, use, self._engine.clock.now()))

    def clear(self, tenant: str) -> dict[str, Any]:
        from onthedot.use_cases.gates.put_limits import clear_limits  # noqa: PLC0415 - as above

        with _errors_in_a_sentence():
            return {"deleted": clear_limits(self._engine, tenant)}

    def all(self) -> Iterator[dict[str, Any]]:
        from onthedot.api.limits.show import tenant_limits_view  # noqa: PLC0415 - as above
        from onthedot.use_cases.gates.show_gates import list_limits  # noqa: PLC0415 - as above

        cursor: str | None = None
        while True:
            with _errors_in_a_sentence():
                page = list_limits(self._engine, PAGE, cursor)
            now = self._engine.clock.now()
            yield from (dict(tenant_limits_view(tenant, values, use, now)) for tenant, values, use in page.items)
            cursor = page.cursor
            if cursor is None:
                return


@contextmanager
def _errors_in_a_sentence() -> Iterator[None]:
    try:
        with aws_errors_in_a_sentence("limits"):
            yield
    except InvalidRequest as error:
        raise click.ClickException(printable(str(error))) from error


def settings_of_stage(stage: str) -> WorkerSettings:
    """Return the settings of a deployed stage, by AWS credentials. Raise click.ClickException."""
    try:
        return WorkerSettings.from_environment(stage_environment(stage))
    except BadSettings as error:
        raise click.ClickException(str(error)) from error


def engine_of_stage(settings: WorkerSettings) -> Engine:
    """Return the engine of a deployed stage, by AWS credentials."""
    from onthedot.wiring.aws import worker_engine  # noqa: PLC0415 - needs the AWS packages

    return worker_engine(settings)


def _engine_of_table(table: str, connection: dict[str, Any]) -> Engine:
    """Return an engine that knows no queues: a tick sends the runs that new limits let go on."""
    with aws_errors_in_a_sentence("limits"):
        shards = _auditing(table, connection, 1).shards.read().used
    return _auditing(table, connection, shards or 1)


def _auditing(table: str, connection: dict[str, Any], shards: int) -> Engine:
    from onthedot.wiring.aws import auditor_engine  # noqa: PLC0415 - needs the AWS packages

    settings = AuditorSettings(
        stage="",
        table=table,
        shards=shards,
        lookahead=0,
        history_days=TOMBSTONE_DAYS,
        backlog_limit=0,
        queue_base="",
        pools=[],
    )
    return auditor_engine(settings, **connection)


def _path(tenant: str) -> str:
    return f"/v1/limits/{encoded(tenant)}"
