"""The dependency direction of ARCHITECTURE.md, held by import-linter."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_layers_are_respected() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_benchmarks_do_not_import_tests() -> None:
    imports = re.compile(r"^\s*(from|import) tests\b", re.MULTILINE)
    assert not [path.name for path in (ROOT / "benchmarks").glob("*.py") if imports.search(path.read_text())]
