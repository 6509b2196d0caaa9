"""The gate runs tests a second time if few of them failed. It fails for a test that fails twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", [{names}])
def test_that_fails_once(name):
    seen = Path(__file__).with_name(f"seen {{name}}")
    is_second, _ = seen.exists(), seen.touch()
    assert is_second
"""


def gate(folder: Path, content: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(content)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [ROOT / "tests" / "gate", "part", "-q", "-p", "no:xdist"],
        cwd=folder,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tests_that_pass_the_second_time_are_named(tmp_path: Path) -> None:
    done = gate(tmp_path, FAILS_ONCE.format(names="'a b', 'c[1]'"))
    assert done.returncode == 0, done.stdout
    named = done.stdout.partition("part: failed at first, passed the second time:\n")[2].splitlines()
    assert named == ["  test_it.py::test_that_fails_once[a b]", "  test_it.py::test_that_fails_once[c[1]]"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("def test_that_passes(): pass", 0),
        ("def test_that_fails_twice(): assert False", 1),
        (FAILS_ONCE.format(names="1, 2, 3, 4"), 1),
        ("import no_such_module", 2),
    ],
    ids=["passes", "fails twice", "too many", "not collected"],
)
def test_all_other_tests_count_as_they_end(tmp_path: Path, content: str, code: int) -> None:
    done = gate(tmp_path, content)
    assert (done.returncode, "passed the second time" in done.stdout) == (code, False), done.stdout
