"""Where one local stack keeps its things, and how it is chosen.

Everything that a local stack writes is under its home, so that two of them never meet.
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
    """The local stack cannot do what was asked; the message says why and what helps."""


@dataclass(frozen=True, slots=True)
class Home:
    """The directory and the port of one local stack."""

    path: Path
    port: int
    enforce_iam: bool = False
    """Whether functions may do only what their roles allow, as on AWS; slower, and for tests."""

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def lock(self) -> Path:
        """Held by the local AWS as long as it lives."""
        return self.path / "ministack.lock"

    @property
    def log(self) -> Path:
        return self.path / "ministack.log"

    def cdk_log(self, command: str) -> Path:
        """What `cdk <command>` said the last time."""
        return self.path / f"cdk-{command}.log"

    @property
    def assembly(self) -> Path:
        """What `cdk synth` wrote: a cache, not data."""
        return self.path / "cdk.out"

    @property
    def data(self) -> Path:
        """What `reset` forgets: the state of the local AWS, its objects and its temporary files."""
        return self.path / "data"

    @property
    def description(self) -> Path:
        """`local.json`: how clients find the stack."""
        return self.path / "local.json"


def home_from(environment: Mapping[str, str]) -> Home:
    """The home that `ONTHEDOT_HOME` and `ONTHEDOT_PORT` name.

    :raises LocalStackError: the port is no port.
    """
    path = Path(environment.get("ONTHEDOT_HOME") or ROOT / ".onthedot")
    return Home(path.expanduser().absolute(), _number(environment, "ONTHEDOT_PORT", DEFAULT_PORT, 65535))


def shards_from(environment: Mapping[str, str]) -> int:
    """The number of shards that `ONTHEDOT_SHARDS` names.

    :raises LocalStackError: it is not a number that makes sense.
    """
    return _number(environment, "ONTHEDOT_SHARDS", DEFAULT_SHARDS, 4096)


def _number(environment: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise LocalStackError(f"{name}={text}: expected a whole number from 1 to {most}")
    return int(text)


def clean_environment(home: Home, **more: str) -> dict[str, str]:
    """A process environment of ours: nothing of the host's AWS settings, proxies or `ONTHEDOT_*` in it."""
    kept = ("PATH", "LANG", "LC_ALL", "TZ", "TERM", "USER", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # A home without `~/.aws`, so that no profile of the host is picked up.
    return environment | {"HOME": str(home.data), "TMPDIR": str(home.data / "tmp")} | more
