"""Find the API that a command works on: by options, by the environment, or by the `local.json` of this folder."""

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from onthedot.client import place as places
from onthedot.client.errors import PlaceError
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace

START: Final = "`onthedot serve` or `onthedot up` starts one"
NO_STACK: Final = "no local stack or server is running here; start one with `onthedot serve` or `onthedot up`, or "

Command = TypeVar("Command", bound=Callable[..., Any])


def options(*added: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options, which `--help` shows in this order."""

    def add(command: Command) -> Command:
        for option in reversed(added):
            command = option(command)
        return command

    return add


api_options: Final = options(
    click.option("--url", metavar="URL", help=f"URL of the API.  [default: {URL}, or the server of this folder]"),
    click.option("--token", metavar="TOKEN", help=f"API token; {TOKEN} is safer.  [default: {TOKEN}]"),
)
"""Adds `--url` and `--token`, for `find_api`."""


def find_api(url: str | None, token: str | None) -> ApiPlace:
    """Return the API that the options name, else the one that the environment names, else the one of `local.json`."""
    if address := url or os.environ.get(URL):
        return checked_api(address, token or os.environ.get(TOKEN))
    stack = local_stack("name an API with --url")
    return checked_api(stack.get("api_url", ""), token or stack.get("token"), is_local=True)


def checked_api(url: str, token: str | None, *, is_local: bool = False) -> ApiPlace:
    """Return the place of an API. Raise click.UsageError when no request can be made of the URL or the token."""
    try:
        return places.checked_place(url, token, is_local=is_local)
    except PlaceError as error:
        raise click.UsageError(str(error)) from error


def local_stack(otherwise: str) -> dict[str, Any]:
    """Return the content of `local.json` in ONTHEDOT_HOME, or in `.onthedot` of this folder or one above it.

    Raise click.UsageError when there is none. Its message offers the way to do without.
    """
    file = places.find_local_file()
    if file is None:
        raise click.UsageError(NO_STACK + otherwise)
    try:
        return places.read_local_file(file)
    except PlaceError as error:
        raise click.ClickException(str(error)) from error
