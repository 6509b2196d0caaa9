"""The home of one local stack: its directory and port, chosen by the environment.

A local stack writes only under its home, so that two stacks never share a file.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGE = "local"
REGION = "us-east-1"
ACCOUNT = "000000000000"

DEFAULT_PORT = 4566
DEFAULT_SHARDS = 4


class LocalStackError(RuntimeError):
    """The local stack cannot execute the command. The message says why, and how to help."""


@dataclass(frozen=True, slots=True)
class Home:
    path: Path
    port: int
    enforce_iam: bool = False
    """Whether functions are limited to the grants of their roles, as on AWS. This is slower, and for tests."""

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def lock(self) -> Path:
        """The file that the local AWS keeps locked while it is alive."""
        return self.path / "ministack.lock"

    @property
    def log(self) -> Path:
        return self.path / "ministack.log"

    def cdk_log(self, command: str) -> Path:
        return self.path / f"cdk-{command}.log"

    @property
    def assembly(self) -> Path:
        """The output of `cdk synth`: a cache, not data."""
        return self.path / "cdk.out"

    @property
    def data(self) -> Path:
        """The directory that `reset` deletes: the state of the local AWS, its objects and its temporary files."""
        return self.path / "data"

    @property
    def description(self) -> Path:
        """`local.json`, by which clients find the stack."""
        return self.path / "local.json"


def home_from(environment: Mapping[str, str]) -> Home:
    """Return the home that `ONTHEDOT_HOME` and `ONTHEDOT_PORT` name. Raise LocalStackError for an invalid port."""
    path = Path(environment.get("ONTHEDOT_HOME") or ROOT / ".onthedot")
    return Home(path.expanduser().absolute(), _number(environment, "ONTHEDOT_PORT", DEFAULT_PORT, 65535))


def shards_from(environment: Mapping[str, str]) -> int:
    """Return the number of shards that `ONTHEDOT_SHARDS` names. Raise LocalStackError when it is out of range."""
    return _number(environment, "ONTHEDOT_SHARDS", DEFAULT_SHARDS, 4096)


def _number(environment: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise LocalStackError(f"{name}={text}: expected a whole number from 1 to {most}")
    return int(text)


def clean_environment(home: Home, **more: str) -> dict[str, str]:
    """Return a process environment without the AWS settings, proxies and `ONTHEDOT_*` variables of the host."""
    kept = ("PATH", "LANG", "LC_ALL", "TZ", "TERM", "USER", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # This HOME has no `.aws`, so that no profile of the host is used.
    return environment | {"HOME": str(home.data), "TMPDIR": str(home.data / "tmp")} | more
