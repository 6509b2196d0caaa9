"""`onthedot up`, `down`, `reset` and `deploy`: the commands that work on a clone of the repository."""

import os
from pathlib import Path
from typing import Final, NoReturn

import click

NOT_A_CLONE: Final = (
    "this command works on the sources, and {start} is not inside a clone of onthedot; change into one and try again"
)
NOT_INSTALLED: Final = "{root} has no {missing} yet; run `make install` there once"


@click.command()
def up() -> None:
    """Start the local AWS and deploy the stacks to it.

    It prints the URL of the API and a token. ONTHEDOT_PORT, ONTHEDOT_HOME and ONTHEDOT_SHARDS choose the port, the
    folder of the data and the number of shards.

    \b
    Example:
      ONTHEDOT_PORT=4600 onthedot up
    """
    _run_local("up")


@click.command()
def down() -> None:
    """Stop the local AWS and keep its data.

    \b
    Example:
      onthedot down
    """
    _run_local("down")


@click.command()
def reset() -> None:
    """Stop the local AWS and delete its data.

    \b
    Example:
      onthedot reset
    """
    _run_local("reset")


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--stage", required=True, help="Name of the deployment, such as dev or prod.")
@click.option("-c", "--context", multiple=True, metavar="KEY=VALUE", help="A CDK context value; may be repeated.")
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
def deploy(stage: str, context: tuple[str, ...], cdk_options: tuple[str, ...]) -> None:
    """Deploy the stacks to the AWS account of your credentials.

    Other options are passed to `cdk deploy` unchanged.

    \b
    Example:
      onthedot deploy --stage prod -c shards=16 --profile production
    """
    root = find_root(Path.cwd())
    values = [part for value in (f"stage={stage}", *context) for part in ("-c", value)]
    _become(root, "node_modules/.bin/cdk", "deploy", "--all", *values, *cdk_options)


def find_root(start: Path) -> Path:
    """Return the root of the clone that contains `start`. Raise click.ClickException when there is none."""
    for directory in (start, *start.parents):
        if (directory / "localstack" / "local.py").is_file() and (directory / "cdk.json").is_file():
            return directory
    raise click.ClickException(NOT_A_CLONE.format(start=start))


def _run_local(command: str) -> NoReturn:
    root = find_root(Path.cwd())
    # A relative path counts from the current directory, and `_become` changes that to the clone.
    if home := os.environ.get("ONTHEDOT_HOME"):
        os.environ["ONTHEDOT_HOME"] = str(Path(home).expanduser().absolute())
    _become(root, ".venv/bin/python", "-m", "localstack.local", command)


def _become(root: Path, program: str, *arguments: str) -> NoReturn:
    """Replace this process by the program, so that signals reach it and its exit code is ours."""
    path = root / program
    if not os.access(path, os.X_OK):
        raise click.ClickException(NOT_INSTALLED.format(root=root, missing=program))
    os.chdir(root)
    # The clone's own Python and Node are found before those of the machine.
    tools = os.pathsep.join([str(root / ".venv" / "bin"), os.environ.get("PATH", os.defpath)])
    os.execve(path, [str(path), *arguments], {**os.environ, "PATH": tools})  # noqa: S606 - there is no shell to go through
