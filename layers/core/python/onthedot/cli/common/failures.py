"""The failures of commands that call the API, each with its exit code. `docs/commands.md` lists the codes."""

import click


class NotThere(click.ClickException):
    """The API has no such thing, or it belongs to another tenant."""

    exit_code = 4


class Refusal(click.ClickException):
    """The API refused the call: the request has mistakes, or the token or the state of the job does not allow it."""

    exit_code = 3


class NoAnswer(click.ClickException):
    """The API cannot be reached, or cannot answer now."""

    exit_code = 5


class Ambiguous(click.ClickException):
    """A name that several jobs have. Nothing was changed."""

    exit_code = 2
