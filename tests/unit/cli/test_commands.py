"""The table of commands is complete, and every command has a help text with an example."""

import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from onthedot import cli
from onthedot.cli.main import main

HEAVY = {"boto3", "botocore", "pydantic", "grpc", "google", "rich", "urllib3", "aws_lambda_powertools", "http"}
MODULES_AFTER_HELP = """
import json, sys
from onthedot.cli.main import main
try:
    main(["--help"], prog_name="onthedot")
finally:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def commands_of(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below the group with its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path} {name}")


COMMANDS = dict(commands_of(main, "onthedot"))
NO_JSON = {"onthedot completion"}
"""It prints a script of the shell."""


def test_help_imports_no_command_and_no_heavy_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES_AFTER_HELP], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    loaded = json.loads(done.stderr)
    assert "Usage: onthedot" in done.stdout
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    ours = {name for name in loaded if name.startswith("onthedot")}
    assert ours <= {
        "onthedot",
        "onthedot.cli",
        "onthedot.cli.commands",
        "onthedot.cli.extras",
        "onthedot.cli.lazy_group",
        "onthedot.cli.main",
        "onthedot.domain",
        "onthedot.domain.errors",
        "onthedot.domain.runs",
        "onthedot.domain.runs.progress",
        "onthedot.domain.targets",
        "onthedot.domain.targets.redaction",
        "onthedot.handlers",
    }
    assert len(loaded) < 150


def test_the_table_has_every_command_of_the_package() -> None:
    modules = [import_module(found.name) for found in pkgutil.walk_packages(cli.__path__, "onthedot.cli.")]
    written = {
        id(command): f"{module.__name__}:{name}"
        for module in modules
        for name, command in inspect.getmembers(module, lambda member: isinstance(member, click.Command))
    }
    known = {id(command) for command in (main, *COMMANDS.values())}
    assert [place for number, place in written.items() if number not in known] == []


@pytest.mark.parametrize("name", sorted(main.entries))
def test_the_tables_summary_is_the_first_sentence_of_the_help_text(name: str) -> None:
    summary = main.entries[name].summary
    assert (COMMANDS[f"onthedot {name}"].help or "").startswith(f"{summary}.\n")
    assert len(summary) <= 65, "it must fit into one line of 80 columns"


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_help_text_has_an_example(path: str) -> None:
    result = CliRunner().invoke(main, [*path.split()[1:], "--help"], prog_name="onthedot")
    assert result.exit_code == 0
    _, found, example = result.output.partition("Example")
    assert found, "add an example to the docstring"
    assert f"  {path}" in example or f" {path}" in example


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_option_has_a_help_text(path: str) -> None:
    options = [option for option in COMMANDS[path].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize(
    "path",
    sorted(path for path, command in COMMANDS.items() if not isinstance(command, click.Group) and path not in NO_JSON),
)
def test_every_command_has_json(path: str) -> None:
    assert "--json" in [name for option in COMMANDS[path].params for name in option.opts]


def test_a_mistyped_command_is_answered_with_the_nearest_one() -> None:
    result = CliRunner().invoke(main, ["previw"])
    assert result.exit_code == 2
    assert "there is no command 'previw'. Did you mean preview?" in result.output


def test_without_a_command_the_help_is_shown() -> None:
    assert CliRunner().invoke(main, []).output == CliRunner().invoke(main, ["--help"]).output


def test_a_missing_package_is_answered_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    result = CliRunner().invoke(main, ["audit", "--table", "jobs"])
    assert result.exit_code == 2
    assert result.output == "Error: onthedot audit needs the AWS packages: pip install 'onthedot[aws]'\n"


def test_a_missing_module_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onthedot.cli.jobs.preview", None)
    result = CliRunner().invoke(main, ["preview", "* * * * *"])
    assert isinstance(result.exception, ModuleNotFoundError)
