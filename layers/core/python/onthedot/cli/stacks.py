"""`onthedot up`, `down` and `reset`: the local AWS of a clone. `completion`: the script that completes commands.

The clone is the one that the current directory is in. Its programs are found before those of the machine.
"""

import os
from pathlib import Path
from typing import Final, NoReturn

import click

from onthedot.cli.output import result_option

NOT_A_CLONE: Final = (
    "this command works on the sources, and {start} is not inside a clone of onthedot; change into one and try again"
)
NOT_INSTALLED: Final = "{root} has no {missing} yet; run `make install` there once"


@click.command()
@result_option
def up(as_json: bool) -> None:
    """Start the local AWS and deploy the stacks to it.

    It prints the URL of the API and a token. ONTHEDOT_PORT, ONTHEDOT_HOME and ONTHEDOT_SHARDS set the port, the folder
    for the data, and the number of shards.

    \b
    Example:
      ONTHEDOT_PORT=4600 onthedot up
    """
    _run_local("up", as_json=as_json)


@click.command()
@result_option
def down(as_json: bool) -> None:
    """Stop the local AWS and keep its data.

    \b
    Example:
      onthedot down
    """
    _run_local("down", as_json=as_json)


@click.command()
@result_option
def reset(as_json: bool) -> None:
    """Stop the local AWS and delete its data.

    \b
    Example:
      onthedot reset
    """
    _run_local("reset", as_json=as_json)


def _run_local(command: str, *, as_json: bool) -> NoReturn:
    """Replace this process by the program, so that signals reach it and its exit code is ours."""
    root = find_root(Path.cwd())
    # A relative path counts from the current directory, which changes to the clone.
    if home := os.environ.get("ONTHEDOT_HOME"):
        os.environ["ONTHEDOT_HOME"] = str(Path(home).expanduser().absolute())
    python = installed(root, ".venv/bin/python")
    arguments = [str(python), "-m", "localstack.local", command, *(["--json"] if as_json else [])]
    os.chdir(root)
    os.execve(python, arguments, with_tools(root, dict(os.environ)))  # noqa: S606 - there is no shell to go through


def find_root(start: Path) -> Path:
    """Return the root of the clone that contains `start`. Raise click.ClickException when there is none."""
    for directory in (start, *start.parents):
        if (directory / "localstack" / "local.py").is_file() and (directory / "cdk.json").is_file():
            return directory
    raise click.ClickException(NOT_A_CLONE.format(start=start))


def installed(root: Path, program: str) -> Path:
    path = root / program
    if not os.access(path, os.X_OK):
        raise click.ClickException(NOT_INSTALLED.format(root=root, missing=program))
    return path


def with_tools(root: Path, environment: dict[str, str]) -> dict[str, str]:
    tools = os.pathsep.join([str(root / ".venv" / "bin"), environment.get("PATH", os.defpath)])
    return {**environment, "PATH": tools}


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell completion script.

    Evaluate it in the startup file of your shell, such as ~/.bashrc or ~/.zshrc. For fish, write it to a file.

    \b
    Examples:
      eval "$(onthedot completion bash)"
      eval "$(onthedot completion zsh)"
      onthedot completion fish > ~/.config/fish/completions/onthedot.fish
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - for this command only

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "onthedot", "_ONTHEDOT_COMPLETE").source())
