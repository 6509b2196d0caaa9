"""`onthedot limits`: how many runs of a tenant run at a time and start per second, and its weight."""

import json
from collections.abc import Sequence
from typing import Any

import click

from onthedot.cli.common.failures import NotThere
from onthedot.cli.limit_text import (
    USE_COLUMNS,
    burst_option,
    in_flight_option,
    json_option,
    limits_text,
    per_second_option,
    print_next,
    print_rows,
    use_row,
)
from onthedot.cli.limits_place import find_limits, place_options
from onthedot.cli.text import printable
from onthedot.domain.gates.limits import MOST_WEIGHT


@click.group()
def limits() -> None:
    """Show, set and lift the limits of tenants.

    They work on the local stack or server, or on the API of --url with an admin's token. With --stage or --table they
    use your AWS credentials.

    \b
    Example:
      onthedot limits set acme --in-flight 10 --per-second 5
    """


@limits.command("set")
@click.argument("tenant")
@in_flight_option
@per_second_option
@burst_option
@click.option("--paused", is_flag=True, help="Start nothing.")
@click.option(
    "--weight",
    type=click.IntRange(1, MOST_WEIGHT),
    help="Runs claimed for each run of a tenant with weight 1.  [1]",
)
@place_options
@json_option
def set_limits(tenant: str, as_json: bool, **options: Any) -> None:
    """Limit TENANT. The values replace the ones before.

    Runs over a limit wait, and `explain` names the limit. It returns when the limits are in force, after some seconds.

    \b
    Examples:
      onthedot limits set acme --in-flight 10 --per-second 5 --weight 2
      onthedot limits set acme --in-flight 0
    """
    values = {name: options.pop(name) for name in ("in_flight", "per_second", "burst", "paused", "weight")}
    if not any(value is not None and value is not False for value in values.values()):
        raise click.UsageError("give at least one option; `onthedot limits clear` lifts all limits")
    shown = find_limits(**options).put(tenant, {**values, "weight": values["weight"] or 1})
    if as_json:
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    click.echo(f"Tenant {printable(tenant)}: {limits_text(shown)}, weight {shown['weight']}.")
    print_next(f"onthedot limits show {printable(tenant)}", f"onthedot limits clear {printable(tenant)}")


@limits.command("show")
@click.argument("tenant", required=False)
@place_options
@json_option
def show(tenant: str | None, as_json: bool, **where: Any) -> None:
    """Show the limits of TENANT, or of all tenants that have any, and the runs that wait.

    Exit code 4: TENANT has no limits.

    \b
    Examples:
      onthedot limits show
      onthedot limits show acme --json
    """
    found = [one for one in find_limits(**where).all() if tenant in (None, one["tenant"])]
    if tenant is not None and not found:
        raise NotThere(f"tenant {printable(tenant)} has no limits")
    _show(found, as_json=as_json)


@limits.command("list")
@place_options
@json_option
def list_limits(as_json: bool, **where: Any) -> None:
    """Show all tenants that have limits.

    \b
    Example:
      onthedot limits list --json
    """
    _show(list(find_limits(**where).all()), as_json=as_json)


@limits.command("clear")
@click.argument("tenant")
@place_options
@json_option
def clear(tenant: str, as_json: bool, **where: Any) -> None:
    """Lift all limits of TENANT. Its runs that wait go on.

    \b
    Example:
      onthedot limits clear acme
    """
    answer = find_limits(**where).clear(tenant)
    click.echo(json.dumps(answer) if as_json else f"Tenant {printable(tenant)} has no limits.")


def _show(found: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        for one in found:
            click.echo(json.dumps(one, ensure_ascii=False))
        return
    rows = [(str(one["tenant"]), *use_row(one), str(one["weight"])) for one in found]
    print_rows(("TENANT", *USE_COLUMNS, "WEIGHT"), rows, "No tenant is limited.")
