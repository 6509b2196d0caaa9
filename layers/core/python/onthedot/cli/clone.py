"""The clone of the repository that a command works on, and its programs."""

import os
from pathlib import Path
from typing import Final, NoReturn

import click

NOT_A_CLONE: Final = (
    "this command works on the sources, and {start} is not inside a clone of onthedot; change into one and try again"
)
NOT_INSTALLED: Final = "{root} has no {missing} yet; run `make install` there once"


def find_root(start: Path) -> Path:
    """Return the root of the clone that contains `start`. Raise click.ClickException when there is none."""
    for directory in (start, *start.parents):
        if (directory / "localstack" / "local.py").is_file() and (directory / "cdk.json").is_file():
            return directory
    raise click.ClickException(NOT_A_CLONE.format(start=start))


def installed(root: Path, program: str) -> Path:
    """Return the path of a program of the clone. Raise click.ClickException when it is not installed."""
    path = root / program
    if not os.access(path, os.X_OK):
        raise click.ClickException(NOT_INSTALLED.format(root=root, missing=program))
    return path


def with_tools(root: Path, environment: dict[str, str]) -> dict[str, str]:
    """Return the environment in which the clone's own Python and Node are found before those of the machine."""
    tools = os.pathsep.join([str(root / ".venv" / "bin"), environment.get("PATH", os.defpath)])
    return {**environment, "PATH": tools}


def become(root: Path, program: str, *arguments: str) -> NoReturn:
    """Replace this process by the program, so that signals reach it and its exit code is ours."""
    path = installed(root, program)
    os.chdir(root)
    os.execve(path, [str(path), *arguments], with_tools(root, dict(os.environ)))  # noqa: S606 - there is no shell to go through
