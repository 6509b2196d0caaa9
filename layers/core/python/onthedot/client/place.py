"""Find the API that a client or a command calls: by arguments, by the environment, or the local stack."""

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from onthedot.client.errors import PlaceError

URL: Final = "ONTHEDOT_URL"
TOKEN: Final = "ONTHEDOT_TOKEN"  # noqa: S105 - the name of a variable
HOME: Final = "ONTHEDOT_HOME"
_FOLDER: Final = ".onthedot"
_FILE: Final = "local.json"


class Place(NamedTuple):
    """The URL of an API, and a token for it."""

    url: str
    token: str
    is_local: bool = False
    """Whether it is the API of the local stack, or of `onthedot serve` on this machine."""


def find_place(url: str | None = None, token: str | None = None) -> Place:
    """Return the API that the arguments name, else the environment's, else the local stack's. Raise PlaceError."""
    if address := url or os.environ.get(URL):
        return checked_place(address, token or os.environ.get(TOKEN))
    file = find_local_file()
    if file is None:
        raise PlaceError(f"there is no local stack or server here; give url and token, or set {URL} and {TOKEN}")
    stack = read_local_file(file)
    return checked_place(stack.get("api_url") or "", token or stack.get("token"), is_local=True)


def checked_place(url: str, token: str | None, *, is_local: bool = False) -> Place:
    """Raise PlaceError when no request can be made of the URL or the token."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise PlaceError(f"{url!r} is not the URL of an API; give one such as https://host/path")
    if not token:
        raise PlaceError(f"{url} needs a token; set it as {TOKEN}")
    if not (token.isascii() and token.isprintable()):
        raise PlaceError(f"the token for {url} has characters that a token cannot have; set it as {TOKEN}")
    return Place(url, token, is_local)


def find_local_file() -> Path | None:
    return next((home / _FILE for home in homes() if (home / _FILE).is_file()), None)


def homes() -> list[Path]:
    """Return ONTHEDOT_HOME, or else `.onthedot` of this folder and of those above it."""
    here, chosen = Path.cwd(), os.environ.get(HOME)
    return [Path(chosen).expanduser()] if chosen else [at / _FOLDER for at in (here, *here.parents)]


def read_local_file(file: Path) -> dict[str, Any]:
    """Raise PlaceError when it cannot be read."""
    try:
        return dict(json.loads(file.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise PlaceError(f"{file} cannot be read; `onthedot serve` and `onthedot up` write it again") from error
