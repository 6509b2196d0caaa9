"""The token that `onthedot deploy` makes, by the same use case as `onthedot tokens create --stage`."""

import os
from typing import Any

import click

from onthedot.cli.tokens_place import NewToken, TokensPlace
from onthedot.domain.access import ROLES, token_problems

FORM = "TENANT:ROLE:NAME"


class TokenText(click.ParamType[NewToken]):
    """A token as the option `--token` describes it. A value that no token may have is refused before anything runs."""

    name = FORM

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NewToken:
        """Return the values of the token to make."""
        parts = str(value).split(":")
        if len(parts) != 3:
            self.fail(f"{value!r} is not {FORM}; give a value such as acme:operator:ada", param, ctx)
        tenant, role, name = parts
        for problem in token_problems(tenant, role, name):
            self.fail(f"{problem.field}: {problem.message}", param, ctx)
        return NewToken(tenant, role, name, expires_at=None)


def token_command(stage: str) -> str:
    """Return the command that makes a token of a stage."""
    return f"onthedot tokens create --stage {stage} --tenant TENANT --role operator --name NAME"


def ask_for_token(tokens: TokensPlace) -> NewToken | None:
    """Ask the user for the first token of a stage. Return None if the stage has one, or if the user wants none."""
    if next(iter(tokens.all(None)), None) is not None or not click.confirm("Make a token for the API?", default=True):
        return None
    new = NewToken(
        click.prompt("Tenant", default="default"),
        click.prompt("Role", default="operator", type=click.Choice(ROLES)),
        click.prompt("Name of its owner", default=os.environ.get("USER") or "first"),
        expires_at=None,
    )
    for problem in token_problems(new.tenant, new.role, new.name):
        raise click.ClickException(f"{problem.field}: {problem.message}")
    return new
