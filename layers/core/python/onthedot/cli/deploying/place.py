"""The account and the region that a command works on.

They are set in the environment of this process, because boto3 and the `cdk` command both read them there.
"""

import os
import re
import shlex
from collections.abc import MutableMapping
from urllib.parse import urlsplit

import click

from onthedot.cli.where import Command

ENDPOINT = "AWS_ENDPOINT_URL"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
STAGE = re.compile(r"[a-z][a-z0-9-]{0,19}")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def stage_option(command: Command) -> Command:
    """Add the required option `--stage`. A name that no stage can have is refused at once."""
    return click.option(
        "--stage", required=True, metavar="NAME", callback=_stage, help="Name of the deployment, such as dev or prod."
    )(command)


def _stage(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not STAGE.fullmatch(name):
        raise click.BadParameter(f"{name!r} is no name of a stage; give up to 20 of a-z, 0-9 and -, a letter first")
    return name


def account_options(command: Command) -> Command:
    """Add the options that say which account and region a command works on, for `use_account`."""
    for option in (
        click.option(
            "--endpoint-url", metavar="URL", help=f"URL of a substitute for AWS.  [default: {ENDPOINT}, or AWS]"
        ),
        click.option(
            "--region", metavar="NAME", help="Region to work in.  [default: AWS_REGION, or the one of the profile]"
        ),
        click.option("--profile", metavar="NAME", help="Profile of your AWS configuration.  [default: AWS_PROFILE]"),
    ):
        command = option(command)
    return command


def use_account(profile: str | None, region: str | None, endpoint_url: str | None) -> None:
    """Set the environment of this process as the options say. Raise click.UsageError for a URL that is none."""
    if endpoint_url is not None and not _is_url(endpoint_url):
        raise click.UsageError(f"{endpoint_url!r} is no URL of an AWS; give one such as http://127.0.0.1:4566")
    set_account(os.environ, profile=profile, region=region, endpoint_url=endpoint_url)


def set_account(
    environment: MutableMapping[str, str], *, profile: str | None, region: str | None, endpoint_url: str | None
) -> None:
    """Write the options into an environment. A profile takes the place of keys, as in the AWS command line."""
    if profile is not None:
        environment["AWS_PROFILE"] = profile
        for name in (*KEYS, *REGIONS):
            environment.pop(name, None)
    if endpoint_url is not None:
        environment[ENDPOINT] = endpoint_url
    # boto3 reads one of the two names, and Node's SDK prefers the other.
    if chosen := region or next((environment[name] for name in REGIONS if environment.get(name)), None):
        environment.update(dict.fromkeys(REGIONS, chosen))


def variables_of(profile: str | None, region: str | None, endpoint_url: str | None) -> str:
    """Return the options as variables that go before a command, which then works on the same account and region."""
    given = {"AWS_PROFILE": profile, "AWS_REGION": region, ENDPOINT: endpoint_url}
    return "".join(f"{name}={shlex.quote(value)} " for name, value in given.items() if value)


def is_this_machine(endpoint_url: str | None) -> bool:
    """Return whether the endpoint is an AWS on this machine, whose functions run on this machine too."""
    return endpoint_url is not None and _is_url(endpoint_url) and urlsplit(endpoint_url).hostname in LOOPBACK


def _is_url(text: str) -> bool:
    try:
        return urlsplit(text).scheme in {"http", "https"} and bool(urlsplit(text).hostname)
    except ValueError:
        return False
