"""Find the API tokens that a command works on: over REST, or in the table of a stage by AWS credentials."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import click

from onthedot.cli.calls import ApiCalls, encoded
from onthedot.cli.common.failures import NotThere
from onthedot.cli.text import printable
from onthedot.cli.where import Command, api_options, aws_errors_in_a_sentence, find_api, stage_table
from onthedot.domain.errors import InvalidRequest, TokenNotFound
from onthedot.domain.instants import format_instant

if TYPE_CHECKING:
    from onthedot.access.token_store import TokenStore

PAGE: Final = 100
MISSING: Final = "there is no token with this id"


class NewToken(NamedTuple):
    """The values of a token that is to be made."""

    tenant: str
    role: str
    name: str
    expires_at: int | None
    """The instant from which it is not valid any more. None: it is valid until it is revoked."""


class TokensPlace(Protocol):
    """The tokens of one stage, as documents of the API."""

    def create(self, new: NewToken) -> dict[str, Any]:
        """Make a token and return it with its text."""
        ...

    def revoke(self, token_id: str) -> None:
        """Delete a token. Raise NotThere."""
        ...

    def all(self, tenant: str | None) -> Iterator[dict[str, Any]]:
        """Yield the tokens of a tenant, or of all tenants."""
        ...


def place_options(command: Command) -> Command:
    """Add the options that say where the tokens are, for `find_tokens`."""
    stage = click.option("--stage", metavar="NAME", help="A deployment, reached with your AWS credentials.")
    return api_options(stage(command))


def find_tokens(*, url: str | None, token: str | None, stage: str | None) -> TokensPlace:
    """Return the tokens at the place that the options name, else those of the API as `find_api` finds it."""
    if stage is None:
        return _OverRest(ApiCalls(find_api(url, token), MISSING))
    if url is not None or token is not None:
        raise click.UsageError("--stage works with your AWS credentials; give it without --url and --token")
    return tokens_of_stage(stage)


def tokens_of_stage(stage: str) -> TokensPlace:
    """Return the tokens of a deployed stage, by AWS credentials."""
    from onthedot.wiring.aws import token_store  # noqa: PLC0415 - needs the AWS packages

    table = stage_table(stage)
    with aws_errors_in_a_sentence(table):
        return _ByCredentials(token_store(table), table)


class _OverRest:
    """The tokens over REST, with an admin's token."""

    def __init__(self, calls: ApiCalls) -> None:
        self._calls = calls

    def create(self, new: NewToken) -> dict[str, Any]:
        expiry = {} if new.expires_at is None else {"expires_at": format_instant(new.expires_at)}
        body = {"tenant": new.tenant, "role": new.role, "name": new.name, **expiry}
        return dict(self._calls.post_once("/v1/tokens", body))

    def revoke(self, token_id: str) -> None:
        self._calls.delete(f"/v1/tokens/{encoded(token_id)}")

    def all(self, tenant: str | None) -> Iterator[dict[str, Any]]:
        query = {} if tenant is None else {"tenant": tenant}
        return self._calls.entries("/v1/tokens", "tokens", **query)


class _ByCredentials:
    """The tokens in a table, by the use cases that the API calls."""

    def __init__(self, tokens: "TokenStore", table: str) -> None:
        self._tokens = tokens
        self._table = table

    def create(self, new: NewToken) -> dict[str, Any]:
        from onthedot.api.tokens.show import new_token_view  # noqa: PLC0415 - REST does not need it
        from onthedot.clock import SystemClock  # noqa: PLC0415 - as above
        from onthedot.ports import Principal  # noqa: PLC0415 - as above
        from onthedot.use_cases.access.tokens import create_token  # noqa: PLC0415 - as above

        with self._errors_in_a_sentence():
            principal = Principal(new.tenant, new.role, new.name)
            made = create_token(self._tokens, SystemClock(), principal, new.expires_at)
        return dict(new_token_view(*made))

    def revoke(self, token_id: str) -> None:
        from onthedot.use_cases.access.tokens import revoke_token  # noqa: PLC0415 - as above

        with self._errors_in_a_sentence():
            revoke_token(self._tokens, token_id)

    def all(self, tenant: str | None) -> Iterator[dict[str, Any]]:
        from onthedot.api.tokens.show import token_view  # noqa: PLC0415 - as above

        cursor: str | None = None
        while True:
            with self._errors_in_a_sentence():
                page = self._tokens.page(PAGE, cursor, tenant)
            yield from (dict(token_view(token)) for token in page.items)
            cursor = page.cursor
            if cursor is None:
                return

    @contextmanager
    def _errors_in_a_sentence(self) -> Iterator[None]:
        try:
            with aws_errors_in_a_sentence(self._table):
                yield
        except InvalidRequest as error:
            raise click.ClickException(printable(str(error))) from error
        except TokenNotFound as error:
            raise NotThere(f"{MISSING} in {self._table}") from error
