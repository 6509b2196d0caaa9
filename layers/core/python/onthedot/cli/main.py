"""The `onthedot` command.

Exit code 0 means that it was done; every failure says on stderr what was wrong.
"""

import os
from pathlib import Path
from typing import NoReturn

import click

from onthedot.cli.audit import audit
from onthedot.cli.limits import limits
from onthedot.cli.preview import preview
from onthedot.cli.worker import worker

NOT_A_CLONE = (
    "this command works on the sources, and {start} is not inside a clone of onthedot; change into one and try again"
)
NOT_INSTALLED = "{root} has no {missing} yet; run `make install` there once"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onthedot")
def main() -> None:
    """Jobs that fire on the dot."""


main.add_command(preview)
main.add_command(limits)
main.add_command(audit)
main.add_command(worker)


@main.command()
def up() -> None:
    """Start the local AWS, deploy the stacks to it, print URL and token.

    ONTHEDOT_PORT, ONTHEDOT_HOME and ONTHEDOT_SHARDS choose the local stack.
    """
    _run_local("up")


@main.command()
def down() -> None:
    """Stop the local AWS; its data stays."""
    _run_local("down")


@main.command()
def reset() -> None:
    """Stop the local AWS and forget its data."""
    _run_local("reset")


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--stage", required=True, help="Name of the installation, e.g. dev or prod.")
@click.option("-c", "--context", multiple=True, metavar="KEY=VALUE", help="A CDK context value; may be repeated.")
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
def deploy(stage: str, context: tuple[str, ...], cdk_options: tuple[str, ...]) -> None:
    """Deploy the stacks to the AWS account of your credentials.

    Further options go to `cdk deploy` as they are.
    """
    root = find_root(Path.cwd())
    values = [part for value in (f"stage={stage}", *context) for part in ("-c", value)]
    _become(root, "node_modules/.bin/cdk", "deploy", "--all", *values, *cdk_options)


def find_root(start: Path) -> Path:
    """The clone that `start` is in.

    :raises click.ClickException: it is in none.
    """
    for directory in (start, *start.parents):
        if (directory / "localstack" / "local.py").is_file() and (directory / "cdk.json").is_file():
            return directory
    raise click.ClickException(NOT_A_CLONE.format(start=start))


def _run_local(command: str) -> NoReturn:
    root = find_root(Path.cwd())
    # Relative to where the caller stands, not to the clone.
    if home := os.environ.get("ONTHEDOT_HOME"):
        os.environ["ONTHEDOT_HOME"] = str(Path(home).expanduser().absolute())
    _become(root, ".venv/bin/python", "-m", "localstack.local", command)


def _become(root: Path, program: str, *arguments: str) -> NoReturn:
    """Go on as another program, so that signals reach it and its exit code is ours."""
    path = root / program
    if not os.access(path, os.X_OK):
        raise click.ClickException(NOT_INSTALLED.format(root=root, missing=program))
    os.chdir(root)
    # The clone's own Python and Node go before those of the machine.
    tools = os.pathsep.join([str(root / ".venv" / "bin"), os.environ.get("PATH", os.defpath)])
    os.execve(path, [str(path), *arguments], {**os.environ, "PATH": tools})  # noqa: S606 - there is no shell to go through


if __name__ == "__main__":
    main()
