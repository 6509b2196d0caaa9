"""The table of commands is complete, and every command has a help text with an example."""

import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from onthedot import cli
from onthedot.cli.main import main
from tests.unit.cli.conftest import invoke

HEAVY = {"boto3", "botocore", "pydantic", "grpc", "google", "rich", "urllib3", "aws_lambda_powertools", "http"}
MODULES_AFTER_HELP = """
import json, sys
from onthedot.cli.main import main
try:
    main(["--help"], prog_name="onthedot")
finally:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
NO_JSON = {"onthedot completion"}
"""It prints a script of the shell."""


def commands_of(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below the group with its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path} {name}")


@pytest.fixture(scope="module")
def commands() -> dict[str, click.Command]:
    return dict(commands_of(main, "onthedot"))


def test_help_imports_no_command_and_no_heavy_package() -> None:
    done = subprocess.run([sys.executable, "-c", MODULES_AFTER_HELP], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stderr)
    assert "Usage: onthedot" in done.stdout
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    ours = {name for name in loaded if name.startswith("onthedot.cli")}
    assert ours == {"onthedot.cli", *(f"onthedot.cli.{name}" for name in ("commands", "lazy_group", "main"))}
    assert len(loaded) < 150


def test_the_table_has_every_command_of_the_package(commands: dict[str, click.Command]) -> None:
    modules = [import_module(found.name) for found in pkgutil.walk_packages(cli.__path__, "onthedot.cli.")]
    written = {
        id(command): f"{module.__name__}:{name}"
        for module in modules
        for name, command in inspect.getmembers(module, lambda member: isinstance(member, click.Command))
    }
    known = {id(command) for command in (main, *commands.values())}
    assert [place for number, place in written.items() if number not in known] == []


def test_the_tables_summary_is_the_first_sentence_of_the_help_text(commands: dict[str, click.Command]) -> None:
    for name, entry in main.entries.items():
        assert (commands[f"onthedot {name}"].help or "").startswith(f"{entry.summary}.\n")
        assert len(entry.summary) <= 65, "it must fit into one line of 80 columns"


def test_every_command_has_an_example_json_and_a_help_text_for_each_option(commands: dict[str, click.Command]) -> None:
    assert len(commands) > 50
    for path, command in commands.items():
        result = invoke(*path.split()[1:], "--help")
        example = result.output.partition("Example")[2]
        assert (result.exit_code, f" {path}" in example) == (0, True), path
        options = [option for option in command.params if isinstance(option, click.Option)]
        assert [option.name for option in options if not option.help] == [], path
        has_json = any("--json" in option.opts for option in options)
        assert has_json or isinstance(command, click.Group) or path in NO_JSON, path


def test_a_mistyped_command_is_answered_with_the_nearest_one() -> None:
    result = invoke("previw")
    assert (result.exit_code, "Did you mean preview?" in result.output) == (2, True)


def test_without_a_command_the_help_is_shown() -> None:
    assert invoke().output == invoke("--help").output


def test_a_missing_package_is_answered_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    result = invoke("audit", "--table", "jobs")
    assert (result.exit_code, "pip install 'onthedot[aws]'" in result.output) == (2, True)


def test_a_missing_module_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onthedot.cli.jobs.preview", None)
    with pytest.raises(ModuleNotFoundError):
        main(["preview", "* * * * *"])
