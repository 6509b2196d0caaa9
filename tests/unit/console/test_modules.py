"""The pure modules of the console, run by Node: each file with tests is one test here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from onthedot.api.openapi import describe
from onthedot.api.routes import ROUTES

HERE: Final = Path(__file__).parent
NODE: Final = Path(sys.executable).parent / "node"
SECONDS: Final = 120


def node(*arguments: str | Path, typed: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run Node in the zone of the tests, with a text as its standard input."""
    environment = {**os.environ, "TZ": "Europe/Berlin", **variables}
    return subprocess.run(
        [NODE, *arguments],
        cwd=HERE,
        env=environment,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.mjs")), ids=lambda file: file.name)
def test_a_module(file: Path, tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(describe(ROUTES)), "utf-8")
    done = node("--test", "--test-reporter=spec", file, OPENAPI=str(document))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "tests 0" not in done.stdout
