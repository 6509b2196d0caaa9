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
      onthedot up
      onthedot listen
      onthedot preview "0 9 * * mon-fri" --timezone Europe/Berlin
    """
    # boto3 does not read AWS_REGION, as the AWS command line does.
    if region := os.environ.get("AWS_REGION"):
        os.environ["AWS_DEFAULT_REGION"] = region


if __name__ == "__main__":
    main(prog_name="onthedot")
