"""`onthedot gates`: limits that you give to your own jobs, over REST."""

from collections.abc import Mapping
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, encoded, print_document, print_unchanged
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.limit_text import (
    USE_COLUMNS,
    burst_option,
    in_flight_option,
    is_for_people,
    json_option,
    limits_text,
    per_second_option,
    print_next,
    print_rows,
    use_row,
)
from onthedot.cli.text import printable
from onthedot.cli.where import api_options

LIMITS: Final = ("in_flight", "per_second", "burst", "paused")


@click.group()
def gates() -> None:
    """Show, set, pause and delete gates, which limit your own jobs.

    A job names its gates. `customer:42` is key 42 of gate customer: each key has the limits of the gate to itself.
    Exit code 4: there is no such gate.

    \b
    Example:
      onthedot gates set stripe --in-flight 5 --per-second 10
    """


@gates.command("set")
@click.argument("name")
@in_flight_option
@per_second_option
@burst_option
@click.option("--paused", is_flag=True, help="Start nothing.")
@click.option("--no-limits", is_flag=True, help="Let everything start, until you set limits.")
@api_options
@json_option
def set_gate(name: str, no_limits: bool, url: str | None, token: str | None, as_json: bool, **limits: Any) -> None:
    """Make gate NAME, or replace all its limits.

    It returns when the limits are in force everywhere, after some seconds.

    \b
    Examples:
      onthedot gates set stripe --in-flight 5 --per-second 10 --burst 20
      onthedot gates set customer --in-flight 1
    """
    _check_limits(limits, no_limits=no_limits)
    _report(name, _calls(name, url, token).put(_path(name), limits), as_json)


def _check_limits(limits: Mapping[str, Any], *, no_limits: bool) -> None:
    """Raise click.UsageError unless the options limit the gate, or say that nothing does."""
    given = [name for name in LIMITS if limits[name] is not None and limits[name] is not False]
    if no_limits and given:
        raise click.UsageError(f"--no-limits does not go with --{given[0].replace('_', '-')}; keep one of them")
    if not no_limits and not {*given} - {"burst"}:
        raise click.UsageError("give --in-flight, --per-second, --paused or --no-limits")


@gates.command("pause")
@click.argument("name")
@api_options
@json_option
def pause(name: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Start nothing at gate NAME until it is resumed. Its limits stay.

    \b
    Example:
      onthedot gates pause stripe
    """
    _report(name, _put_paused(name, url, token, paused=True), as_json)


@gates.command("resume")
@click.argument("name")
@api_options
@json_option
def resume(name: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Let runs at gate NAME start again, within its limits.

    \b
    Example:
      onthedot gates resume stripe
    """
    _report(name, _put_paused(name, url, token, paused=False), as_json)


@gates.command("show")
@click.argument("name")
@api_options
@json_option
def show(name: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Show gate NAME, or one key of it as NAME:KEY, with its holders and the runs that wait.

    \b
    Examples:
      onthedot gates show stripe
      onthedot gates show customer:42 --json
    """
    found = _calls(name, url, token).get(_path(name))
    if as_json:
        print_unchanged(found)
        return
    gate = _gate(found)
    now, for_people = this_moment(), is_for_people()
    changed = cell(gate.get("changed_at"), now, for_people=for_people), gate.get("changed_by") or "-"
    print_rows(("GATE", *USE_COLUMNS, "SET", "BY"), [(gate["name"], *use_row(gate), *changed)], "")
    holders = [
        (one["execution_id"], cell(one["since"], now, for_people=for_people), one["worker_id"] or "-")
        for one in gate.get("holders", ())
    ]
    if holders:
        print_rows(("HOLDER", "SINCE", "WORKER"), holders, "")
    if gate.get("waiting_keys"):
        more = "+" if gate.get("waiting_keys_is_more") else ""
        print_rows(
            (f"WAITING KEYS ({gate['waiting_keys']:,}{more})",), [(key,) for key in gate["first_waiting_keys"]], ""
        )


@gates.command("list")
@api_options
@json_option
def list_gates(url: str | None, token: str | None, as_json: bool) -> None:
    """Show all gates with their limits, the attempts that have places, and the runs that wait.

    \b
    Example:
      onthedot gates list
    """
    found = Documents(url, token).entries("/v1/gates", "gates")
    if as_json:
        for gate in found:
            print_document(gate)
        return
    rows = [(str(gate["name"]), *use_row(gate)) for gate in found]
    print_rows(("GATE", *USE_COLUMNS), rows, "There is no gate. Make one: onthedot gates set NAME --in-flight 5")


@gates.command("delete")
@click.argument("name")
@api_options
@json_option
def delete(name: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Delete gate NAME. Runs that wait there, and jobs that name it, go on without it.

    \b
    Example:
      onthedot gates delete stripe
    """
    deleted = _calls(name, url, token).delete(_path(name))
    if as_json:
        print_unchanged(deleted)
    else:
        click.echo(f"Gate {printable(name)} is deleted.")


def _put_paused(name: str, url: str | None, token: str | None, *, paused: bool) -> Any:
    """Read the gate's limits and set them again, paused or not."""
    calls = _calls(name, url, token)
    gate = _gate(calls.get(_path(name)))
    return calls.put(_path(name), {**{limit: gate.get(limit) for limit in LIMITS}, "paused": paused})


def _calls(name: str, url: str | None, token: str | None) -> Documents:
    return Documents(url, token, f"there is no gate {printable(name)}")


def _path(name: str) -> str:
    return f"/v1/gates/{encoded(name)}"


def _gate(gate: Any) -> Mapping[str, Any]:
    if not isinstance(gate, dict) or "name" not in gate:
        raise click.ClickException("the answer is not a gate; is the URL right?")
    return gate


def _report(name: str, gate: Any, as_json: bool) -> None:
    if as_json:
        print_unchanged(gate)
        return
    click.echo(f"Gate {printable(name)}: {limits_text(_gate(gate))}.")
    print_next(f"onthedot gates show {printable(name)}", "onthedot gates list")
