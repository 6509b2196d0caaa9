"""The layers as they are uploaded: pinned, of the right Python, and small enough for Lambda."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from layers import build
from layers.build import LAMBDA_PYTHON, REQUIREMENTS, dependencies_layer
from tests.infra.kit import Assembly

TAG = f"cpython-{LAMBDA_PYTHON.replace('.', '')}"
UNZIPPED_LIMIT = 250 * 2**20
"""Of a function with all its layers, by the quotas of Lambda."""


def size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


@pytest.fixture(scope="session")
def for_lambda() -> Path:
    """The dependencies layer that a deployment uploads, with wheels for Lambda's Python and processor."""
    return dependencies_layer(local=False)


@pytest.mark.slow
def test_the_dependencies_have_wheels_and_bytecode_of_lambdas_python_only(for_lambda: Path) -> None:
    libraries = [file.name for file in for_lambda.rglob("*.so")]
    assert libraries
    assert [name for name in libraries if f"{TAG}-aarch64" not in name and ".abi3." not in name] == []
    assert [file for file in for_lambda.rglob("*.pyc") if TAG not in file.name] == []


@pytest.mark.slow
def test_the_layers_leave_room_below_the_limit(for_lambda: Path) -> None:
    assert size(for_lambda) + size(build.ROOT / "layers" / "core") < UNZIPPED_LIMIT / 2


@pytest.mark.slow
@pytest.mark.parametrize("package", ["boto3", "botocore", "pydantic", "aws-lambda-powertools"])
def test_a_function_has_the_versions_that_the_tests_have(for_lambda: Path, package: str) -> None:
    """boto3 as well: that of Lambda's runtime changes without us."""
    name = package.replace("-", "_")
    assert (for_lambda / "python" / f"{name}-{version(package)}.dist-info").is_dir()
    assert f"\n{package}=={version(package)} " in f"\n{REQUIREMENTS.read_text()}"


def test_no_code_is_uploaded_with_bytecode_of_this_machine(prod: Assembly) -> None:
    assets = [path for path in prod.directory.glob("asset.*") if path.is_dir()]
    assert any((asset / "python" / "onthedot").is_dir() for asset in assets), "the core layer is among them"
    assert any((asset / "handler.py").is_file() for asset in assets), "and functions"
    assert [file for asset in assets for file in asset.rglob("*.py[co]")] == []
    assert [path for asset in assets for path in asset.rglob("__pycache__")] == []


def test_bytecode_is_made_only_by_an_interpreter_of_the_right_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build.interpreter("1.0") is None
    # As `pyenv` does it: a command of that name for a version that is not installed, or another one.
    for says in ("exit 127", "echo 3.13"):
        (shim := tmp_path / f"python{LAMBDA_PYTHON}").write_text(f"#!/bin/sh\n{says}\n")
        shim.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        assert build.interpreter(LAMBDA_PYTHON) is None
    (shim := tmp_path / f"python{LAMBDA_PYTHON}").write_text(f"#!/bin/sh\necho {LAMBDA_PYTHON}\n")
    assert build.interpreter(LAMBDA_PYTHON) == str(shim)


def test_a_layer_with_bytecode_is_another_one_than_without() -> None:
    with_it, without = (build.Target("lambda", LAMBDA_PYTHON, (), compiler) for compiler in ("python", None))
    assert with_it.key(b"boto3") != without.key(b"boto3")


def test_the_code_that_functions_run_asks_for_no_newer_python_than_the_tests_have() -> None:
    """mypy and ruff check against 3.11, which the tests run on. mypy checks against Lambda's version too."""
    project = (build.ROOT / "pyproject.toml").read_text()
    assert 'requires-python = ">=3.11"' in project
    assert 'target-version = "py311"' in project
    assert 'python_version = "3.11"' in project
    makefile = (build.ROOT / "Makefile").read_text()
    [checked] = re.findall(r"mypy --python-version (\S+) (.+)", makefile)
    assert checked == (LAMBDA_PYTHON, "layers/core/python/onthedot functions")
