"""`onthedot tokens`: make, list and revoke the API tokens of a stage."""

import re
from typing import Any, Final

import click

from onthedot.access.tokens import ROLES, TEXT_PREFIX
from onthedot.cli.credentials import (
    TableCalls,
    aws_errors_in_a_sentence,
    engine_on_table,
    stage_option,
    stage_table,
)
from onthedot.cli.documents import Calls, Documents, encoded
from onthedot.cli.options import api_options, options
from onthedot.cli.output import Cells, json_option, print_document, print_list, print_next, printable
from onthedot.core.clock import SystemClock, format_instant
from onthedot.schedules.zones import LAST_INSTANT

SHOWN: Final = ("token", "id", "tenant", "role", "name", "expires_at")
MISSING: Final = "there is no token with this id"
PATH: Final = "/v1/tokens"
_LIFETIME: Final = re.compile(r"([1-9]\d{0,8})([smhdw])", re.ASCII)
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_at_a_place: Final = options(api_options, stage_option, json_option)


class Lifetime(click.ParamType[int]):
    """A time such as 30d, in milliseconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _LIFETIME.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a time; give a number with s, m, h, d or w, such as 30d", param, ctx)
        lifetime = int(found[1]) * _UNIT_MS[found[2]]
        if SystemClock().now() + lifetime >= LAST_INSTANT:
            self.fail(f"{value!r} is too long; leave it out for a token without expiry", param, ctx)
        return lifetime


@click.group()
def tokens() -> None:
    """Create, list and revoke API tokens.

    The commands work on the local stack or server, or on the API at --url, and need an admin's token. With --stage,
    they use your AWS credentials instead. Only a hash of each token is stored.

    \b
    Example:
      onthedot tokens create --tenant acme --role operator --name ada --expires 30d
    """


@tokens.command("create")
@click.option("--tenant", required=True, help="The tenant that the token belongs to.")
@click.option("--role", required=True, type=click.Choice(ROLES), help="What the token may do.")
@click.option("--name", required=True, help="The owner or purpose of the token.")
@click.option("--expires", type=Lifetime(), help="How long it is valid, such as 12h or 30d.  [default: forever]")
@_at_a_place
def create(tenant: str, role: str, name: str, expires: int | None, as_json: bool, **where: Any) -> None:
    """Create a token and print it. It cannot be shown again.

    \b
    Examples:
      onthedot tokens create --tenant acme --role operator --name ada --expires 30d
      onthedot tokens create --tenant acme --role admin --name first --stage prod --json
    """
    expiry = {} if expires is None else {"expires_at": format_instant(SystemClock().now() + expires)}
    made = find_tokens(**where).post_once(PATH, {"tenant": tenant, "role": role, "name": name, **expiry})
    if as_json:
        print_document({field: made[field] for field in SHOWN})
        return
    click.echo(made["token"])
    until = f"until {made['expires_at']}" if made["expires_at"] else "until it is revoked"
    click.echo(f"Token {made['id']}: {role} of tenant {printable(tenant)}, valid {until}. Store it now.", err=True)
    print_next("onthedot tokens list", f"onthedot tokens revoke {made['id']}")


@tokens.command("list")
@click.option("--tenant", help="Only the tokens of this tenant.")
@_at_a_place
def list_tokens(tenant: str | None, as_json: bool, **where: Any) -> None:
    """List the valid tokens. The tokens themselves are not shown.

    \b
    Examples:
      onthedot tokens list
      onthedot tokens list --tenant acme --stage prod --json
    """
    found = find_tokens(**where).entries(PATH, "tokens", tenant=tenant)
    in_order = sorted(found, key=lambda one: (one["tenant"], one["name"], one["created_at"]))
    cells = Cells()

    def row(one: dict[str, Any]) -> list[str]:
        names = [str(one[field] or "-") for field in ("id", "tenant", "role", "name")]
        return [*names, cells.time(one["created_at"]), cells.time(one["expires_at"])]

    header = ("ID", "TENANT", "ROLE", "NAME", "CREATED", "EXPIRES")
    print_list(in_order, header, row, "There are no tokens.", as_json=as_json)


@tokens.command("revoke")
@click.argument("token_id", metavar="ID")
@_at_a_place
def revoke(token_id: str, as_json: bool, **where: Any) -> None:
    """Revoke the token with this ID. It stops working within a minute.

    Exit code 4: there is no such token.

    \b
    Example:
      onthedot tokens revoke tok_Zc4xqf0Tq2aB
    """
    if token_id.startswith(TEXT_PREFIX):
        # The path of a call is in logs, and so would the token be.
        raise click.UsageError("that is the token itself, not its id; find the id with `onthedot tokens list`")
    find_tokens(**where).delete(f"{PATH}/{encoded(token_id)}")
    if as_json:
        print_document({"deleted": True})
    else:
        click.echo(f"Token {printable(token_id)} is revoked.")


def find_tokens(*, url: str | None, token: str | None, stage: str | None) -> Calls:
    """Return the calls at the place that the options name, else those of the API as `find_api` finds it."""
    if stage is None:
        return Documents(url, token, MISSING)
    if url is not None or token is not None:
        raise click.UsageError("--stage works with your AWS credentials; give it without --url and --token")
    return tokens_of_stage(stage)


def tokens_of_stage(stage: str) -> Calls:
    table = stage_table(stage)
    with aws_errors_in_a_sentence(table):
        return TableCalls(engine_on_table(table, {}, shards=1), table, MISSING)
