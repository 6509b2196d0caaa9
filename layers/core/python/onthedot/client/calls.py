"""The bytes and headers of a call, the same for both clients."""

import json
from typing import Any

from onthedot.client.requests import Operation


def headers_for(token: str | None) -> dict[str, str]:
    """Return the headers of every call. Without a token, for a transport that authenticates by itself, it has none."""
    from onthedot import __version__  # noqa: PLC0415 - the package imports this module while it is loaded

    headers = {"Content-Type": "application/json", "User-Agent": f"onthedot-python/{__version__}"}
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def body_of(operation: Operation[Any]) -> bytes | None:
    """Return the JSON of a call. Raise ValueError or TypeError when a value is no JSON."""
    if operation.body is None:
        return None
    return json.dumps(operation.body, ensure_ascii=False, allow_nan=False).encode()
