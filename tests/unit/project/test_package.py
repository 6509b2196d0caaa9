"""The wheel in an environment of its own: the command line and a REST worker run without any extra."""

import ast
import os
import re
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import onthedot
from onthedot.cli.lazy_group import EXTRAS, TITLES

ROOT = Path(__file__).parents[3]
PRODUCT = ROOT / "layers" / "core" / "python" / "onthedot"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = {"click", "croniter", "rich"}
"""The import packages that the wheel brings without extras, besides the data of tzdata."""
INSTALLED = {
    *("click", "croniter", "markdown_it_py", "mdurl", "onthedot", "pygments"),
    *("python_dateutil", "rich", "six", "tzdata"),
}
SECONDS = 60
APP = """
from onthedot import job

@job("greet")
def greet(payload):
    return f"hello {payload}"
"""
LOAD_ALL = """
from onthedot.cli.main import main
for name in main.entries:
    assert main.get_command(None, name), name
"""


def uv(*arguments: str | Path) -> None:
    """Run uv from its cache, which `make install` filled. Ask the index only when the cache is not enough."""
    command = [Path(sys.executable).parent / "uv", "--quiet", *arguments]
    if subprocess.run([*command, "--offline"], cwd=ROOT, capture_output=True, check=False).returncode:
        subprocess.run(command, cwd=ROOT, check=True)


@dataclass(frozen=True)
class Bare:
    """An environment that has onthedot without extras, and an empty folder to work in."""

    programs: Path
    folder: Path

    def start(self, program: str, *arguments: str) -> "subprocess.Popen[str]":
        outer = {name: os.environ[name] for name in os.environ if not name.startswith(("ONTHEDOT_", "AWS_", "PYTHON"))}
        return subprocess.Popen(
            [self.programs / program, *arguments],
            cwd=self.folder,
            env={**outer, "ONTHEDOT_TOKEN": "otd_test", "COLUMNS": "120"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, program: str, *arguments: str) -> tuple[int, str]:
        process = self.start(program, *arguments)
        output, _ = process.communicate(timeout=SECONDS)
        return process.returncode, output


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    uv("build", "--wheel", "--no-build-isolation", "--out-dir", folder, ROOT)  # as `make wheel` does
    [wheel] = folder.glob("*.whl")
    uv("venv", "--python", sys.executable, folder / "env")
    python = folder / "env" / "bin" / "python"
    uv("pip", "install", "--compile-bytecode", "--python", python, "-c", ROOT / "requirements.lock", wheel)
    return python.parent


@pytest.fixture
def bare(programs: Path, tmp_path: Path) -> Bare:
    return Bare(programs, tmp_path)


@pytest.mark.slow
def test_only_the_packages_of_the_command_line_and_a_rest_worker_are_installed(programs: Path) -> None:
    found = {
        path.name.partition("-")[0].lower() for path in programs.parent.glob("lib/python*/site-packages/*.dist-info")
    }
    assert found == INSTALLED


def test_the_wheel_has_every_file_of_the_console(programs: Path) -> None:
    def files(folder: Path) -> set[Path]:
        return {file.relative_to(folder) for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"}

    [installed] = programs.parent.glob("lib/python*/site-packages/onthedot/console")
    assert files(installed) == files(PRODUCT / "console")


def test_every_command_loads_and_help_works(bare: Bare) -> None:
    assert bare.run("python", "-c", LOAD_ALL) == (0, "")
    code, output = bare.run("onthedot", "--help")
    assert code == 0
    assert "onthedot listen" in output
    assert bare.run("onthedot", "worker", "--help")[0] == 0


def test_the_preview_works(bare: Bare) -> None:
    code, output = bare.run("onthedot", "preview", "0 9 * * mon-fri", "--timezone", "Europe/Berlin")
    assert code == 0
    assert output.count("09:00:00+0") == 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["schedule", "--in", "1m", "--http", "https://x.example/"], ["get", "job_a"], ["gates", "list"], ["workers"]],
)
def test_commands_reach_for_the_api(bare: Bare, arguments: list[str]) -> None:
    code, output = bare.run("onthedot", *arguments, "--url", "http://127.0.0.1:1", "--token", "t")
    assert (code, output) == (5, "Error: http://127.0.0.1:1 cannot be reached: Connection refused\n")


def test_a_worker_with_an_app_runs_until_it_is_stopped(bare: Bare) -> None:
    (bare.folder / "my_app.py").write_text(APP)
    process = bare.start("onthedot", "worker", "--app", "my_app", "--url", "http://127.0.0.1:1")
    try:
        assert process.stdout is not None
        assert "http://127.0.0.1:1 cannot be reached" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "name", "extra"),
    [
        (["audit", "--table", "jobs"], "onthedot audit", "aws"),
        (["worker", "--direct", "--stage", "prod"], "onthedot worker", "aws"),
        (
            ["worker", "--url", "http://127.0.0.1:1", "--capability", "grpc"],
            "onthedot worker --capability grpc",
            "grpc",
        ),
    ],
)
def test_a_command_without_its_packages_names_the_extra(
    bare: Bare, arguments: list[str], name: str, extra: str
) -> None:
    message = f"Error: {name} needs {TITLES[extra]}: pip install 'onthedot[{extra}]'\n"
    assert bare.run("onthedot", *arguments) == (2, message)


def test_every_package_that_the_product_imports_comes_with_it_or_with_an_extra() -> None:
    imported: set[str] = set()
    for path in PRODUCT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.partition(".")[0])
    stubs = {name for name in imported if name.startswith(("mypy_boto3", "_typeshed"))}
    assert imported - stubs - set(sys.stdlib_module_names) == {"onthedot", *BASE, *EXTRAS}
    assert set(TITLES) == set(EXTRAS.values()) <= set(PROJECT["optional-dependencies"])


def test_the_workers_image_has_the_packages_of_aws_and_grpc() -> None:
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["aws"], *extras["grpc"]]
    pinned = re.findall(r"^([a-z0-9-]+)==", (ROOT / "worker.lock").read_text(), re.MULTILINE)
    assert {re.split(r"[<>=\[ ]", requirement)[0] for requirement in asked} <= set(pinned)


def test_the_version_is_the_same_everywhere() -> None:
    assert onthedot.__version__ == PROJECT["version"]
