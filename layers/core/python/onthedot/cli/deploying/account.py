"""The account and the region that a command works on.

They are set in the environment of this process, because boto3 and the `cdk` command both read them there.
"""

import os
import re
import shlex
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from onthedot.cli.deploying.cdk import ENDPOINT
from onthedot.cli.deploying.checks import Check, require
from onthedot.cli.options import options

KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
STAGE: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def _stage(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not STAGE.fullmatch(name):
        raise click.BadParameter(f"{name!r} cannot name a stage; give up to 20 of a-z, 0-9 and -, a letter first")
    return name


stage_option: Final = click.option(
    "--stage", required=True, metavar="NAME", callback=_stage, help="Name of the deployment, such as dev or prod."
)
account_options: Final = options(
    click.option("--profile", metavar="NAME", help="Profile of your AWS configuration.  [default: AWS_PROFILE]"),
    click.option("--region", metavar="NAME", help="Region to work in.  [default: AWS_REGION, or the profile's]"),
    click.option("--endpoint-url", metavar="URL", help=f"URL of an AWS substitute.  [default: {ENDPOINT}, or AWS]"),
)
"""Adds the options that say which account and region a command works on, for `Place`."""


class Place(NamedTuple):
    """The options of a command, and the account and region that they lead to."""

    variables: str
    """The options as variables before a command, which then works on the same account and region."""
    account: str
    region: str


def find_place(profile: str | None, region: str | None, endpoint_url: str | None) -> Place:
    """Set the environment as the options say, and check the credentials. End the command when they are not accepted."""
    if endpoint_url is not None and not _is_url(endpoint_url):
        raise click.UsageError(f"{endpoint_url!r} is not the URL of an AWS; give one such as http://127.0.0.1:4566")
    set_account(os.environ, profile=profile, region=region, endpoint_url=endpoint_url)
    from onthedot.wiring.aws import aws_errors, client, default_region  # noqa: PLC0415 - needs the AWS packages

    where = None
    try:
        where = default_region()
        require([Check("region", bool(where), where or "no region is set: give --region, or set AWS_REGION")])
        caller = client("sts").get_caller_identity()
    except aws_errors() as error:
        text = f"AWS does not accept them ({error}): sign in again, or set AWS_PROFILE or the AWS keys"
        require([Check("credentials", False, text)])
        raise
    require([Check("credentials", True, f"{caller['Arn']} of account {caller['Account']}")])
    # From here on the region does not depend on the profile, which `cdk` might read in another way.
    set_account(os.environ, region=where)
    given = {"AWS_PROFILE": profile, "AWS_REGION": region, ENDPOINT: endpoint_url}
    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in given.items() if value)
    return Place(variables, str(caller["Account"]), str(where))


def set_account(
    environment: MutableMapping[str, str],
    *,
    profile: str | None = None,
    region: str | None = None,
    endpoint_url: str | None = None,
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


def is_this_machine(endpoint_url: str | None) -> bool:
    """Return whether the endpoint is an AWS on this machine, whose functions run on this machine too."""
    return endpoint_url is not None and _is_url(endpoint_url) and urlsplit(endpoint_url).hostname in LOOPBACK


def _is_url(text: str) -> bool:
    try:
        return urlsplit(text).scheme in {"http", "https"} and bool(urlsplit(text).hostname)
    except ValueError:
        return False


def has_terminal() -> bool:
    """Return whether a person can answer a question."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def api_url_of(outputs: Mapping[str, Any], endpoint_url: str | None) -> str:
    """Return the URL before the paths of the API, without a slash at the end. Raise KeyError when it is unknown.

    At a substitute for AWS it is the form with the path: the form with the host would need a name server for it.
    """
    url = str(outputs["ApiUrl"]).rstrip("/")
    if endpoint_url is None:
        return url
    stage = urlsplit(url).path.strip("/")
    return f"{endpoint_url.rstrip('/')}/restapis/{outputs['ApiId']}/{stage}/_user_request_"
