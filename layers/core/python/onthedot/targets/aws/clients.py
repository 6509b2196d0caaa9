"""Clients of AWS services for users' calls. They do not retry, and wait only a little longer than the call may take."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from onthedot.domain.errors import OnthedotError

_MOST_CLIENTS: Final = 16
_CONNECT_SECONDS: Final = 5.0
# Making a client is slow, and not thread-safe within a session.
_making: Final = threading.Lock()


class GarbledError(OnthedotError):
    """A reply that cannot be read as a reply of the service."""


def make_client(service: Any, read_seconds: float, *, session: Any = None, **connection: Any) -> Any:
    """Return a client that waits this long for an answer and does not retry: runs have retries of their own.

    `session` has the credentials, by default those of the process. `connection` holds the client's region, endpoint
    and keys outside AWS. Raise BotoCoreError when there is no such service, or no region is configured.
    """
    import boto3  # noqa: PLC0415 - only a worker that makes such a call loads it
    from botocore.config import Config  # noqa: PLC0415

    from onthedot import __version__  # noqa: PLC0415

    config = Config(
        user_agent=f"onthedot/{__version__}",
        connect_timeout=min(_CONNECT_SECONDS, read_seconds),
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=32,
        tcp_keepalive=True,
    )
    with _making:
        return (session or boto3).client(service, config=config, **connection)


class Clients:
    """A cache of a few clients by service and time-out, made when first needed.

    It is safe to use from several threads.
    """

    def __init__(self, make: Callable[[str, float], Any]) -> None:
        self._make = make
        # A thread may wait here for a client that is being made: its caller does not wait for it beyond the time-out.
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, float], Any] = OrderedDict()

    def client(self, service: str, timeout_ms: int) -> Any:
        """Return a client whose time-out is this or up to twice as long. Raise the maker's errors."""
        key = service, _bucket(timeout_ms)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(*key)
            self._made.move_to_end(key)
            if len(self._made) > _MOST_CLIENTS:
                self._made.popitem(last=False)
            return self._made[key]


def send(client: Any, action: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make one call of an action that the client has.

    Raise ClientError when the service refuses, BotoCoreError when the input does not fit or the service cannot be
    reached, and GarbledError when the reply cannot be read.
    """
    from botocore import xform_name  # noqa: PLC0415
    from botocore.parsers import ResponseParserError  # noqa: PLC0415
    from botocore.validate import validate_parameters  # noqa: PLC0415

    try:
        response: Mapping[str, Any] = getattr(client, xform_name(action))(**arguments)
    except (ClientError, BotoCoreError):
        raise
    except (ResponseParserError, TypeError, ValueError, AttributeError, KeyError) as error:
        # botocore raises these for inputs that it adjusts before it validates them, and for unexpected replies.
        shape = client.meta.service_model.operation_model(action).input_shape
        if shape is not None:
            validate_parameters(arguments, shape)
        raise GarbledError(f"{type(error).__name__}: {error}") from error
    return response


def read_body(body: Any, limit: int) -> bytes:
    """Read a streaming body up to this many bytes. Leave the rest unread.

    Raise BotoCoreError when it breaks off. botocore notices that only when it is asked to read beyond the end.
    """
    content = b""
    with body:
        while len(content) < limit and (more := body.read(limit - len(content))):
            content += more
    return content


def _bucket(timeout_ms: int) -> float:
    """Return the time-out in seconds, rounded up to a power of two."""
    seconds = 1.0
    while seconds * 1000 < timeout_ms:
        seconds *= 2
    return seconds
