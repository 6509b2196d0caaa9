"""Write the generated files of the client library: `make generate`."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import onthedot
from tools.client.sync import sync_client
from tools.client.types import answers, options

CLIENT: Final = Path(onthedot.__file__).parent / "client"
FILES: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "answers.py": ("the API's description by tools/client/types.py", answers),
    "options.py": ("the API's description by tools/client/types.py", options),
    "client.py": (
        "async_client.py by tools/client/sync.py",
        lambda: sync_client((CLIENT / "async_client.py").read_text()),
    ),
}
"""By name, what a generated file is made from, and its text before it is formatted."""


def generate(name: str) -> str:
    """Return the text of a generated file."""
    source, make = FILES[name]
    text = f"# Generated from {source}: run `make generate`, and edit nothing here.\n{make()}"
    ruff, place = str(Path(sys.executable).with_name("ruff")), f"--stdin-filename={CLIENT / name}"
    fix = ["check", "--quiet", "--fix-only", "--unsafe-fixes", "--select=I,F401,UP028"]
    for arguments in (fix, ["format", "--quiet"]):
        done = subprocess.run([ruff, *arguments, place, "-"], input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


def main() -> None:
    for name in FILES:
        (CLIENT / name).write_text(generate(name))


if __name__ == "__main__":
    main()
