"""`onthedot limits`: how many runs a tenant may have in flight and start per second, and its weight."""

import json
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from onthedot.cli.where import aws_errors_in_a_sentence, find_table, table_options
from onthedot.domain.runs.fairness import TenantLimits
from onthedot.ports import LimitsStore


@click.group()
def limits() -> None:
    """Show, set and lift the limits of tenants.

    \b
    Example:
      onthedot limits set acme --in-flight 10 --per-second 5
    """


@limits.command("list")
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(table: str | None, region: str | None, endpoint_url: str | None, as_json: bool) -> None:
    """Show all limited tenants, which of them are throttled now, and why.

    \b
    Example:
      onthedot limits list --json
    """
    with aws_errors_in_a_sentence("limits"):
        found = _store(table, region, endpoint_url).read()
    if as_json:
        tenants = {name: asdict(value) for name, value in found.tenants.items()}
        click.echo(json.dumps({"tenants": tenants, "held": dict(found.throttled)}))
        return
    shown = Table("tenant", "in flight", "per second", "weight", "throttled")
    for name in sorted({*found.tenants, *found.throttled}):
        value = found.tenants.get(name, TenantLimits())
        numbers = [str(n) if n is not None else "-" for n in (value.in_flight, value.per_second, value.weight)]
        style = "yellow" if name in found.throttled else None
        shown.add_row(name, *numbers, found.throttled.get(name, ""), style=style)
    Console().print(shown if shown.row_count else "No tenant is limited.")


@limits.command("set")
@click.argument("tenant")
@click.option("--in-flight", type=click.IntRange(min=1), help="Runs that are sent and not ended, approximately.")
@click.option(
    "--per-second", type=click.FloatRange(min=0, min_open=True), help="Runs that start, averaged over a minute."
)
@click.option(
    "--weight",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Runs sent for each run of a tenant with weight 1.",
)
@table_options
def set_limits(tenant: str, in_flight: int | None, per_second: float | None, weight: int, **where: Any) -> None:
    """Limit TENANT.

    Runs over a limit wait, and `explain` names the limit. The three values replace the ones before.

    \b
    Example:
      onthedot limits set acme --in-flight 10 --per-second 5 --weight 2
    """
    _put(tenant, TenantLimits(in_flight, per_second, weight), **where)
    click.echo(f"{tenant} is limited.")


@limits.command("clear")
@click.argument("tenant")
@table_options
def clear(tenant: str, **where: Any) -> None:
    """Lift all limits of TENANT.

    \b
    Example:
      onthedot limits clear acme
    """
    _put(tenant, None, **where)
    click.echo(f"{tenant} is not limited.")


def _put(tenant: str, limits: TenantLimits | None, **where: Any) -> None:
    with aws_errors_in_a_sentence("limits"):
        _store(**where).put(tenant, limits)


def _store(table: str | None, region: str | None, endpoint_url: str | None) -> LimitsStore:
    from onthedot.wiring.aws import limits_store  # noqa: PLC0415 - needs the AWS packages

    name, connection = find_table(table, region, endpoint_url)
    return limits_store(name, **connection)
