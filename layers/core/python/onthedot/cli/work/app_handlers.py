"""Find the handlers of the app that an option names."""

import click

from onthedot.targets.processes.python_runner import AppBroken, handlers_of


def app_handlers(app: str | None) -> list[str]:
    """Return the names of the app's handlers. Raise click.ClickException when it cannot be used."""
    if app is None:
        return []
    try:
        found = handlers_of(app)
    except AppBroken as error:
        raise click.ClickException(str(error)) from error
    if not found:
        raise click.ClickException(f'{app} marks no handler; mark one with @job("name")')
    return found
