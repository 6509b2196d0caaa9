"""The list of checks as the user sees it, and the checks that every command for an account begins with."""

import sys
from collections.abc import Iterable

import click

from onthedot.cli.deploying import account, checks
from onthedot.cli.deploying.checks import Check, Outcome
from onthedot.cli.deploying.place import use_account

COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.UNKNOWN: "yellow"}


def require(found: Iterable[Check]) -> None:
    """Print all checks. Raise click.ClickException when one of them failed."""
    failures = 0
    for check in found:
        click.echo(f"{click.style(check.outcome, fg=COLOURS[check.outcome])} {check.name:<12} {check.text}")
        failures += check.outcome is Outcome.FAILED
    if failures:
        raise click.ClickException("nothing was changed; do what the lines with ✗ say, and try again")


def who_and_where() -> tuple[account.Caller, str]:
    """Return the identity of the credentials and the region. End the command when one of them is missing."""
    from onthedot.wiring.aws import AWS_ERRORS  # noqa: PLC0415 - needs the AWS packages

    try:
        where = account.region()
        require([checks.judge_region(where)])
        caller = account.caller()
    except AWS_ERRORS as error:
        require([checks.judge_credentials(str(error))])
        raise
    require([checks.passed("credentials", f"{caller.arn} of account {caller.account}")])
    # From here on the region does not depend on the profile, which `cdk` might read in another way.
    use_account(None, where, None)
    return caller, str(where)


def has_terminal() -> bool:
    """Return whether a person can answer a question."""
    return sys.stdin.isatty() and sys.stdout.isatty()
