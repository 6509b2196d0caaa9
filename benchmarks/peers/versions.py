"""The versions of everything that the benchmark measures, and the machine that it runs on."""

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.common import ROOT
from benchmarks.peers.environments import PACKAGE_JSON, REQUIREMENTS, find

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
    """Return the processor, the number of cores and the memory."""
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
