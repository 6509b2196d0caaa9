"""`onthedot limits` and `gates`: how much of a tenant, or at a gate, runs at a time and starts in a second."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from onthedot.cli.credentials import (
    TableCalls,
    aws_errors_in_a_sentence,
    engine_on_table,
    find_table,
    stage_option,
    stage_settings,
    table_options,
)
from onthedot.cli.documents import Calls, Documents, NotThere, encoded
from onthedot.cli.options import api_options, on_api, options
from onthedot.cli.output import (
    Cells,
    json_option,
    print_document,
    print_list,
    print_next,
    print_rows,
    print_unchanged,
    printable,
    word,
)
from onthedot.client import requests
from onthedot.gates.limits import MOST_BURST, MOST_IN_FLIGHT, MOST_PER_SECOND, MOST_WEIGHT

USE_COLUMNS: Final = ("IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE")
GATE_LIMITS: Final = ("in_flight", "per_second", "burst", "paused")

limit_options: Final = options(
    click.option(
        "--in-flight",
        type=click.IntRange(0, MOST_IN_FLIGHT),
        help="How many attempts may run at a time; 0 stops everything.",
    ),
    click.option(
        "--per-second",
        type=click.FloatRange(0, MOST_PER_SECOND),
        help="How many may start per second; 0 stops everything.",
    ),
    click.option(
        "--burst",
        type=click.IntRange(1, MOST_BURST),
        help="With --per-second: how many may start at once after a quiet period.  [default: 1]",
    ),
    click.option("--paused", is_flag=True, help="Start nothing."),
)
_on_tenants: Final = options(api_options, stage_option, table_options, json_option)


@click.group()
def limits() -> None:
    """Show, set and lift the limits of tenants.

    The commands work on the local stack or server, or on the API at --url, and need an admin's token. With --stage or
    --table, they use your AWS credentials instead.

    \b
    Example:
      onthedot limits set acme --in-flight 10 --per-second 5
    """


@limits.command("set")
@click.argument("tenant")
@limit_options
@click.option(
    "--weight",
    type=click.IntRange(1, MOST_WEIGHT),
    help="Share of the capacity, relative to tenants of weight 1.  [default: 1]",
)
@_on_tenants
def set_limits(tenant: str, as_json: bool, **given: Any) -> None:
    """Set the limits of TENANT, replacing all earlier ones.

    Runs over a limit wait, and `explain` names the limit. The command returns once the limits are in force, after a few
    seconds.

    \b
    Examples:
      onthedot limits set acme --in-flight 10 --per-second 5 --weight 2
      onthedot limits set acme --in-flight 0
    """
    values = {name: given.pop(name) for name in (*GATE_LIMITS, "weight")}
    if not any(value is not None and value is not False for value in values.values()):
        raise click.UsageError("give at least one option; `onthedot limits clear` lifts all limits")
    shown = _tenants(**given).put(_tenant(tenant), {**values, "weight": values["weight"] or 1})
    if as_json:
        print_document(shown)
        return
    click.echo(f"Tenant {printable(tenant)}: {_in_words(shown)}, weight {shown['weight']}.")
    print_next(f"onthedot limits show {word(tenant)}", f"onthedot limits clear {word(tenant)}")


@limits.command("show")
@click.argument("tenant", required=False)
@_on_tenants
def show_limits(tenant: str | None, as_json: bool, **where: Any) -> None:
    """Show the limits of TENANT, or of all tenants that have any, and the waiting runs.

    Exit code 4: TENANT has no limits.

    \b
    Examples:
      onthedot limits show
      onthedot limits show acme --json
    """
    found = [one for one in _all(**where) if tenant in (None, one["tenant"])]
    if tenant is not None and not found:
        raise NotThere(f"tenant {printable(tenant)} has no limits")
    _print_tenants(found, as_json=as_json)


@limits.command("list")
@_on_tenants
def list_limits(as_json: bool, **where: Any) -> None:
    """Show all tenants that have limits.

    \b
    Example:
      onthedot limits list --json
    """
    _print_tenants(_all(**where), as_json=as_json)


@limits.command("clear")
@click.argument("tenant")
@_on_tenants
def clear_limits(tenant: str, as_json: bool, **where: Any) -> None:
    """Lift all limits of TENANT. Its waiting runs continue.

    \b
    Example:
      onthedot limits clear acme
    """
    answer = _tenants(**where).delete(_tenant(tenant))
    if as_json:
        print_document(answer)
    else:
        click.echo(f"Tenant {printable(tenant)} has no limits.")


def _tenants(
    *,
    url: str | None,
    token: str | None,
    stage: str | None,
    table: str | None,
    region: str | None,
    endpoint_url: str | None,
) -> Calls:
    """Return the calls at the place that the options name, else those of the API as `find_api` finds it."""
    if sum(place is not None for place in (url, stage, table)) > 1:
        raise click.UsageError("give one of --url, --stage and --table")
    if stage is not None:
        from onthedot.wiring.aws import worker_engine  # noqa: PLC0415 - needs the AWS packages

        return TableCalls(worker_engine(stage_settings(stage)), "limits")
    if table is None and not region and not endpoint_url:
        return Documents(url, token)
    place = find_table(table, region, endpoint_url)
    with aws_errors_in_a_sentence("limits"):
        # It knows no queues: a tick sends the runs that new limits let go on.
        return TableCalls(engine_on_table(*place), "limits")


def _all(**where: Any) -> Iterable[dict[str, Any]]:
    return _tenants(**where).entries("/v1/limits", "limits")


def _tenant(tenant: str) -> str:
    return f"/v1/limits/{encoded(tenant)}"


def _print_tenants(found: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    header = ("TENANT", *USE_COLUMNS, "WEIGHT")
    row = lambda one: (str(one["tenant"]), *_use(one), str(one["weight"]))  # noqa: E731 - it is used once
    print_list(found, header, row, "No tenant has limits.", as_json=as_json)


@click.group()
def gates() -> None:
    """Show, set, pause and delete gates, which limit your own jobs.

    A job names the gates that it must pass. `customer:42` is key 42 of gate customer; the limits apply to each key
    separately. Exit code 4: there is no such gate.

    \b
    Example:
      onthedot gates set stripe --in-flight 5 --per-second 10
    """


def _name(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not name:
        raise click.BadParameter("is empty; give the name of a gate")
    return name.encode(errors="replace").decode()


_on_gate: Final = options(click.argument("name", callback=_name), on_api)


def _read(api: Documents, name: str) -> Mapping[str, Any]:
    gate: Mapping[str, Any] = api.ask(requests.gate(name), f"there is no gate {printable(name)}")
    return gate


def _put(api: Documents, name: str, limits: Mapping[str, Any], *, as_json: bool) -> None:
    in_flight, per_second, burst, paused = (limits.get(limit) for limit in GATE_LIMITS)
    gate = api.ask(requests.set_gate(name, in_flight, per_second, burst, paused=bool(paused)))
    if as_json:
        print_unchanged(gate)
        return
    click.echo(f"Gate {printable(name)}: {_in_words(gate)}.")
    print_next(f"onthedot gates show {word(name)}", "onthedot gates list")


@gates.command("set")
@limit_options
@click.option("--no-limits", is_flag=True, help="Limit nothing.")
@_on_gate
def set_gate(name: str, no_limits: bool, api: Documents, as_json: bool, **limits: Any) -> None:
    """Create gate NAME, or replace all its limits.

    The command returns once the limits are in force everywhere, after a few seconds.

    \b
    Examples:
      onthedot gates set stripe --in-flight 5 --per-second 10 --burst 20
      onthedot gates set customer --in-flight 1
    """
    chosen = [limit for limit in GATE_LIMITS if limits[limit] is not None and limits[limit] is not False]
    if no_limits and chosen:
        raise click.UsageError(f"--no-limits cannot be combined with --{chosen[0].replace('_', '-')}; keep one of them")
    if not no_limits and not {*chosen} - {"burst"}:
        raise click.UsageError("give --in-flight, --per-second, --paused or --no-limits")
    _put(api, name, limits, as_json=as_json)


@gates.command("pause")
@_on_gate
def pause_gate(name: str, api: Documents, as_json: bool) -> None:
    """Let nothing start at gate NAME until you resume it. Its limits stay.

    \b
    Example:
      onthedot gates pause stripe
    """
    _put(api, name, {**_read(api, name), "paused": True}, as_json=as_json)


@gates.command("resume")
@_on_gate
def resume_gate(name: str, api: Documents, as_json: bool) -> None:
    """Let runs at gate NAME start again, within its limits.

    \b
    Example:
      onthedot gates resume stripe
    """
    _put(api, name, {**_read(api, name), "paused": False}, as_json=as_json)


@gates.command("show")
@_on_gate
def show_gate(name: str, api: Documents, as_json: bool) -> None:
    """Show gate NAME, or one of its keys as NAME:KEY, with its holders and waiting runs.

    \b
    Examples:
      onthedot gates show stripe
      onthedot gates show customer:42 --json
    """
    shown, cells = _read(api, name), Cells()
    if as_json:
        print_unchanged(shown)
        return
    changed = cells.time(shown.get("changed_at")), shown.get("changed_by") or "-"
    print_rows(("GATE", *USE_COLUMNS, "SET", "BY"), [(shown["name"], *_use(shown), *changed)])
    if holders := shown.get("holders"):
        rows = [(one["execution_id"], cells.time(one["since"]), one["worker_id"] or "-") for one in holders]
        print_rows(("HOLDER", "SINCE", "WORKER"), rows)
    if keys := shown.get("waiting_keys"):
        more = "+" if shown.get("waiting_keys_is_more") else ""
        print_rows((f"WAITING KEYS ({keys:,}{more})",), [(key,) for key in shown["first_waiting_keys"]])


@gates.command("list")
@on_api
def list_gates(api: Documents, as_json: bool) -> None:
    """Show all gates with their limits, and the attempts in flight and runs waiting at each.

    \b
    Example:
      onthedot gates list
    """
    found = api.pages(requests.gates, "gates")
    none = "There are no gates. Create one: onthedot gates set NAME --in-flight 5"
    print_list(found, ("GATE", *USE_COLUMNS), lambda one: (str(one["name"]), *_use(one)), none, as_json=as_json)


@gates.command("delete")
@_on_gate
def delete_gate(name: str, api: Documents, as_json: bool) -> None:
    """Delete gate NAME. Runs that wait there, and jobs that name it, go on without it.

    \b
    Example:
      onthedot gates delete stripe
    """
    deleted = api.ask(requests.delete_gate(name)._replace(repeatable=False), f"there is no gate {printable(name)}")
    if as_json:
        print_unchanged(deleted)
    else:
        click.echo(f"Gate {printable(name)} is deleted.")


def _use(shown: Mapping[str, Any]) -> tuple[str, ...]:
    in_use, waiting = ("?" if shown.get(name) is None else f"{shown[name]:,}" for name in ("in_use", "waiting"))
    limit, rate, burst = shown.get("in_flight"), shown.get("per_second"), shown.get("burst")
    oldest = shown.get("oldest_waiting_seconds")
    return (
        in_use if limit is None else f"{in_use} of {limit:,}",
        "-" if rate is None else f"{rate:g}" + ("" if burst is None else f", burst {burst:,}"),
        waiting + ("+" if shown.get("waiting_is_more") else ""),
        "-" if oldest is None else f"{oldest:,.1f} s",
        _state(shown),
    )


def _state(shown: Mapping[str, Any]) -> str:
    if shown.get("paused"):
        return "paused"
    return "stopped" if 0 in (shown.get("in_flight"), shown.get("per_second")) else "open"


def _in_words(shown: Mapping[str, Any]) -> str:
    parts = []
    if shown.get("in_flight") is not None:
        parts.append(f"{shown['in_flight']:,} at a time")
    if shown.get("per_second") is not None:
        parts.append(f"{shown['per_second']:g} a second, burst {shown.get('burst') or 1:,}")
    state = _state(shown)
    return ", ".join([*(parts or ["no limit"]), *([] if state == "open" else [state])])
