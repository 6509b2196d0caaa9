"""`onthedot tokens`: make, list and revoke the API tokens of a stage."""

import json
import re
from typing import Any, Final

import click

from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.tokens_place import NewToken, find_tokens, place_options
from onthedot.clock import SystemClock
from onthedot.domain.access import ROLES, TEXT_PREFIX
from onthedot.domain.schedules.zones import LAST_INSTANT

SHOWN: Final = ("token", "id", "tenant", "role", "name", "expires_at")
_LIFETIME: Final = re.compile(r"([1-9]\d{0,8})([smhdw])", re.ASCII)
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class Lifetime(click.ParamType[int]):
    """A time such as 30d, in milliseconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds. Fail when the text is no time, or when the token would outlive the calendar."""
        found = _LIFETIME.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is no time; give a number and one of s, m, h, d and w, such as 30d", param, ctx)
        lifetime = int(found[1]) * _UNIT_MS[found[2]]
        if SystemClock().now() + lifetime >= LAST_INSTANT:
            self.fail(f"{value!r} is too long; leave it out for a token without expiry", param, ctx)
        return lifetime


@click.group()
def tokens() -> None:
    """Make, list and revoke API tokens.

    They work on the local stack or server, or on the API of --url with an admin's token. With --stage they use your AWS
    credentials. A token is stored only as a hash.

    \b
    Example:
      onthedot tokens create --tenant acme --role operator --name ada --expires 30d
    """


@tokens.command("create")
@click.option("--tenant", required=True, help="The tenant whose jobs the token is for.")
@click.option("--role", required=True, type=click.Choice(ROLES), help="The calls that it may make.")
@click.option("--name", required=True, help="Its owner or its purpose.")
@click.option("--expires", type=Lifetime(), help="It is valid for this time, such as 12h or 30d.  [for ever]")
@place_options
@json_option
def create(tenant: str, role: str, name: str, expires: int | None, as_json: bool, **where: Any) -> None:
    """Make a token and print it. It cannot be shown again.

    \b
    Examples:
      onthedot tokens create --tenant acme --role operator --name ada --expires 30d
      onthedot tokens create --tenant acme --role admin --name first --stage prod --json
    """
    expires_at = None if expires is None else SystemClock().now() + expires
    made = find_tokens(**where).create(NewToken(tenant, role, name, expires_at))
    if as_json:
        click.echo(json.dumps({field: made[field] for field in SHOWN}, ensure_ascii=False))
        return
    click.echo(made["token"])
    until = f"until {made['expires_at']}" if made["expires_at"] else "until it is revoked"
    click.echo(f"Token {made['id']}: {role} of tenant {printable(tenant)}, valid {until}. Keep it now.", err=True)
    print_next("onthedot tokens list", f"onthedot tokens revoke {made['id']}")


@tokens.command("list")
@click.option("--tenant", help="Only the tokens of this tenant.")
@place_options
@json_option
def list_tokens(tenant: str | None, as_json: bool, **where: Any) -> None:
    """List the tokens that are valid, without their texts.

    \b
    Examples:
      onthedot tokens list
      onthedot tokens list --tenant acme --stage prod --json
    """
    found = sorted(find_tokens(**where).all(tenant), key=lambda one: (one["tenant"], one["name"], one["created_at"]))
    if as_json:
        for one in found:
            click.echo(json.dumps(one, ensure_ascii=False))
        return
    now, for_people = this_moment(), is_for_people()
    rows = [
        [
            *(str(one[field] or "-") for field in ("id", "tenant", "role", "name")),
            *(cell(one[field], now, for_people=for_people) for field in ("created_at", "expires_at")),
        ]
        for one in found
    ]
    print_rows(("ID", "TENANT", "ROLE", "NAME", "CREATED", "EXPIRES"), rows, "There are no tokens.")


@tokens.command("revoke")
@click.argument("token_id", metavar="ID")
@place_options
@json_option
def revoke(token_id: str, as_json: bool, **where: Any) -> None:
    """Revoke the token with this ID. It is refused within a minute.

    Exit code 4: there is no such token.

    \b
    Example:
      onthedot tokens revoke tok_Zc4xqf0Tq2aB
    """
    if token_id.startswith(TEXT_PREFIX):
        # A text in the path of a call would be in logs, and in this message on the screen.
        raise click.UsageError("that is the token itself, not its id; find the id with `onthedot tokens list`")
    find_tokens(**where).revoke(token_id)
    click.echo(json.dumps({"deleted": True}) if as_json else f"Token {printable(token_id)} is revoked.")
