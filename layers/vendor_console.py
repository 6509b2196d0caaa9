"""Fetch the libraries of the console from the npm registry, and write them with their hashes and licences.

Run it as `python layers/vendor_console.py` after a change of a version here. It needs npm. What it writes is in git, so
that neither an installation nor a browser asks another host.
"""

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VENDOR: Final = Path(__file__).parent / "core" / "python" / "onthedot" / "console" / "vendor"
IMPORTS: Final = {
    "preact": "./preact.js",
    "preact/hooks": "./preact-hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
"""A browser finds a module by a path. An import map would need inline code, which the page's policy forbids."""
_IMPORT: Final = re.compile(r'\bfrom\s*"([^"]+)"')
_SOURCE_MAP: Final = re.compile(r"\n?//# sourceMappingURL=\S+\s*$")


@dataclass(frozen=True)
class Library:
    """One file of an npm package, and the name that it gets here."""

    package: str
    version: str
    licence: str
    path: str
    name: str
    after: str = ""
    """Code that makes a module of a script."""


LIBRARIES: Final = (
    Library("preact", "10.29.8", "MIT", "dist/preact.module.js", "preact.js"),
    Library("preact", "10.29.8", "MIT", "hooks/dist/hooks.module.js", "preact-hooks.js"),
    Library("htm", "3.1.1", "Apache-2.0", "dist/htm.module.js", "htm.js"),
    Library("@preact/signals-core", "1.14.5", "MIT", "dist/signals-core.module.js", "signals-core.js"),
    Library("@preact/signals", "2.11.4", "MIT", "dist/signals.module.js", "signals.js"),
    Library("uplot", "1.6.32", "MIT", "dist/uPlot.iife.min.js", "uplot.js", "\nexport default uPlot;\n"),
    Library("uplot", "1.6.32", "MIT", "dist/uPlot.min.css", "uplot.css"),
    Library("@dagrejs/dagre", "3.1.3", "MIT", "dist/dagre.esm.js", "dagre.js"),
)


def main() -> None:
    """Write every library, `vendor.json`, and the licence of each package."""
    (VENDOR / "licences").mkdir(parents=True, exist_ok=True)
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for library in LIBRARIES:
            package = _unpacked(library, Path(folder))
            content = _as_module(library, (package / library.path).read_text("utf-8"))
            (VENDOR / library.name).write_text(content, "utf-8")
            licence = f"licences/{library.package.removeprefix('@').replace('/', '-')}.txt"
            (VENDOR / licence).write_text((package / "LICENSE").read_text("utf-8"), "utf-8")
            records.append(
                {
                    "file": library.name,
                    "package": library.package,
                    "version": library.version,
                    "source": library.path,
                    "sha256": hashlib.sha256(content.encode()).hexdigest(),
                    "licence": library.licence,
                    "licence_file": licence,
                }
            )
    (VENDOR / "vendor.json").write_text(json.dumps(records, indent=2) + "\n", "utf-8")


def _unpacked(library: Library, folder: Path) -> Path:
    name = f"{library.package}@{library.version}"
    target = folder / name
    if not target.exists():
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), name]
        archive = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(folder / archive) as packed:
            packed.extractall(target, filter="data")
    return target / "package"


def _as_module(library: Library, text: str) -> str:
    """Return the file with relative imports, and without the address of a source map that is not here."""
    relative = _IMPORT.sub(lambda found: f'from"{IMPORTS[found[1]]}"', text)
    return _SOURCE_MAP.sub("", relative).rstrip("\n") + "\n" + library.after.lstrip("\n")


if __name__ == "__main__":
    main()
