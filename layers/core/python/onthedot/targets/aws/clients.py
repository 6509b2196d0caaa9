"""Clients of AWS services for users' calls: never retrying by themselves, hardly more patient than the call."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from onthedot.domain.errors import OnthedotError

_KEPT: Final = 16
_CONNECT_SECONDS: Final = 5.0
USER_AGENT: Final = "onthedot-jobs"
"""How jobs' calls are told from the worker's own, which are made by the same role: what is ours is denied to these."""


class GarbledError(OnthedotError):
    """What came back is no reply of that service."""


def make_client(service: Any, read_seconds: float, **connection: Any) -> Any:
    """A client that waits so long for an answer, once: runs have retries of their own.

    `connection` is for those who are not on AWS: the client's region, endpoint and keys.

    :raises BotoCoreError: when there is no such service, or nothing says in which region
    """
    import boto3  # noqa: PLC0415 (a worker that makes no such call does not pay for it)
    from botocore.config import Config  # noqa: PLC0415

    from onthedot import __version__  # noqa: PLC0415

    config = Config(
        user_agent=f"{USER_AGENT}/{__version__}",
        connect_timeout=min(_CONNECT_SECONDS, read_seconds),
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=32,
        tcp_keepalive=True,
    )
    return boto3.client(service, config=config, **connection)


class Clients:
    """Clients by service and time-out, made when first needed; few are kept. Safe to use from several threads."""

    def __init__(self, make: Callable[[str, float], Any]) -> None:
        self._make = make
        # Making one is slow and not safe beside another; who waits here is not waited for beyond its time-out.
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, float], Any] = OrderedDict()

    def client(self, service: str, timeout_ms: int) -> Any:
        """One whose time-out is this or up to twice as long. Raises what the maker does."""
        key = service, _bucket(timeout_ms)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(*key)
            self._made.move_to_end(key)
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
            return self._made[key]


def send(client: Any, action: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make one call of an action that the client has.

    :raises ClientError: when the service says no
    :raises BotoCoreError: when the input does not fit, or the service cannot be reached
    :raises GarbledError: when the reply makes no sense
    """
    from botocore import xform_name  # noqa: PLC0415
    from botocore.parsers import ResponseParserError  # noqa: PLC0415
    from botocore.validate import validate_parameters  # noqa: PLC0415

    try:
        response: Mapping[str, Any] = getattr(client, xform_name(action))(**given)
    except (ClientError, BotoCoreError):
        raise
    except (ResponseParserError, TypeError, ValueError, AttributeError, KeyError) as error:
        # botocore stumbles over inputs that it adjusts before it checks them, and over replies that it did not expect.
        shape = client.meta.service_model.operation_model(action).input_shape
        if shape is not None:
            validate_parameters(given, shape)
        raise GarbledError(f"{type(error).__name__}: {error}") from error
    return response


def read_body(body: Any, limit: int) -> bytes:
    """A body that streams, up to this many bytes; the rest is left unread.

    :raises BotoCoreError: when it breaks off, which botocore notices only when asked for what follows the end
    """
    content = b""
    with body:
        while len(content) < limit and (more := body.read(limit - len(content))):
            content += more
    return content


def _bucket(timeout_ms: int) -> float:
    """Seconds, a power of two."""
    seconds = 1.0
    while seconds * 1000 < timeout_ms:
        seconds *= 2
    return seconds
