"""The place of a server: its data, and `local.json`, by which commands find it."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DEFAULT_PORT: Final = 4566
DATA: Final = "onthedot.db"


class BadPlace(Exception):
    """The data or the port cannot be used. The message says what to do."""


@dataclass(frozen=True, slots=True)
class ServeHome:
    """The folder of a server, and the file of its data."""

    path: Path
    data: Path

    @property
    def description(self) -> Path:
        """The file by which commands find the server."""
        return self.path / "local.json"

    def prepare(self) -> None:
        """Make the folders. Raise BadPlace."""
        try:
            _make(self.path)
            _make(self.data.parent, mode=0o700)
        except OSError as error:
            raise BadPlace(f"{self.data.parent} cannot be created: {error.strerror}") from error

    def token(self) -> str | None:
        """Return the token of the server that was here before, if it was one."""
        try:
            before = json.loads(self.description.read_text())
        except (OSError, ValueError):
            return None
        is_own = isinstance(before, dict) and before.get("data") == str(self.data)
        return str(before["token"]) if is_own and before.get("token") else None

    def describe(self, url: str, token: str) -> None:
        """Write `local.json`, readable for this user only."""
        content: dict[str, Any] = {
            "api_url": url,
            "token": token,
            "console_url": f"{url}/console",
            "pid": os.getpid(),
            "data": str(self.data),
        }
        part = self.description.with_suffix(".json.part")
        with suppress(FileNotFoundError):
            part.unlink()
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file, indent=2)
        part.replace(self.description)


def _make(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, and sync their names: SQLite syncs only the names of its files."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for made in missing:
        descriptor = os.open(made.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def home_from(environment: Mapping[str, str], data: str | None) -> ServeHome:
    """Return the home that ONTHEDOT_HOME names, with the data that an option names.

    The data is a folder, or a file that ends in `.db`.
    """
    home = Path(environment.get("ONTHEDOT_HOME") or ".onthedot").expanduser().absolute()
    if data is None:
        return ServeHome(home, home / "serve" / DATA)
    chosen = Path(data).expanduser().absolute()
    return ServeHome(home, chosen if chosen.suffix == ".db" or chosen.is_file() else chosen / DATA)


def port_from(environment: Mapping[str, str]) -> int:
    """Return the port that ONTHEDOT_PORT names. Raise BadPlace."""
    text = environment.get("ONTHEDOT_PORT") or str(DEFAULT_PORT)
    if not (text.isascii() and text.isdigit() and 0 <= int(text) < 65536):
        raise BadPlace(f"ONTHEDOT_PORT={text!r} is not a port; use a number from 0 to 65535")
    return int(text)
