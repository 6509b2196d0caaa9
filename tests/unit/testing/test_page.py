"""The examples of docs/testing.md and docs/client.md are a user's files: they run, and they are typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / "docs" / page).read_text())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a user's project from the pages."""
    conftest, *examples = blocks("testing.md")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_jobs.py").write_text("\n\n".join(examples))
    (tmp_path / "program.py").write_text("\n\n".join(blocks("client.md")))
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )


def test_the_examples_of_the_page_pass(project: Path) -> None:
    done = run(project, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


HANDLER = """
from datetime import datetime, timedelta

from onthedot import Client, Context, job


@job("copy-rows")
def copy_rows(payload: list[str], context: Context) -> tuple[int, datetime, timedelta]:
    for number in range(len(payload)):
        if context.cancelled:
            break
        context.progress(number / len(payload), f"rows {number}")
    return context.attempt, context.deadline, context.lateness


def shown(run_id: str) -> float | None:
    run = Client().execution(run_id)
    print(run.deadline, run.running_ms)
    return None if run.progress is None else run.progress.fraction
"""


@pytest.mark.slow
def test_the_examples_are_typed_and_mistakes_are_found(project: Path) -> None:
    wrong = 'from onthedot import Client\nClient().schedule("a", dely=3)\nClient().get(1)\n'
    (project / "wrong.py").write_text(wrong)
    (project / "handler.py").write_text(HANDLER)
    files = ("test_jobs.py", "program.py", "handler.py", "wrong.py")
    done = run(project, "mypy", "--strict", "--no-color-output", *files)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout
    assert 'wrong.py:2: error: Unexpected keyword argument "dely"' in errors[0]
    assert 'wrong.py:3: error: Argument 1 to "get" of "Client" has incompatible type "int"' in errors[1]
