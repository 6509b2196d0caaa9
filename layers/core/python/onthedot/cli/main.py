"""The `onthedot` command.

Exit code 0 means success. Every failure writes its reason to stderr.
"""

import os

import click

from onthedot import __version__
from onthedot.cli.commands import SECTIONS
from onthedot.cli.lazy_group import LazyGroup


@click.group(cls=LazyGroup, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onthedot")
def main() -> None:
    """Jobs that fire on the dot.

    \b
    Examples:
      onthedot serve
      onthedot listen
      onthedot schedule --in 10m --http https://api.example.com/remind
      onthedot preview "0 9 * * mon-fri" --timezone Europe/Berlin
    """
    # Click itself does not read NO_COLOR.
    if os.environ.get("NO_COLOR"):
        click.get_current_context().color = False
    # boto3 does not read AWS_REGION, as the AWS command line does.
    if region := os.environ.get("AWS_REGION"):
        os.environ["AWS_DEFAULT_REGION"] = region


if __name__ == "__main__":
    main(prog_name="onthedot")
