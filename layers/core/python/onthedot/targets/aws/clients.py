"""Clients of AWS services for users' calls, and the role that signs them.

The clients do not retry, and wait only a little longer than the call may take.
"""

import math
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.credentials import CredentialProvider, CredentialResolver, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.session import Session
from botocore.validate import validate_parameters

from onthedot import __version__
from onthedot.core.errors import OnthedotError

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
    """A cache of a few clients by service and timeout. It is safe to use from several threads."""

    def __init__(self, make: Callable[[str, float], Any]) -> None:
        self._make = lru_cache(_MOST_CLIENTS)(make)
        # A thread may wait here for a client that is being made: its caller does not wait for it beyond the timeout.
        self._lock = threading.Lock()

    def client(self, service: str, timeout_ms: int) -> Any:
        """Return a client whose timeout is this or up to twice as long."""
        with self._lock:
            return self._make(service, _bucket(timeout_ms))


def send(client: Any, action: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make one call of an action that the client has.

    Raise ClientError when the service refuses, BotoCoreError when the input does not fit or the service cannot be
    reached, and GarbledError when the reply cannot be read.
    """
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
    """Round the timeout up to a power of two, in seconds."""
    return float(1 << math.ceil(math.log2(max(1, timeout_ms / 1000))))


SESSION_NAME: Final = "onthedot-jobs"
"""The name of the calls in CloudTrail."""
_FAILED: Final = timedelta(seconds=1)
"""The time for which a failure is remembered."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class RoleNotAssumed(OnthedotError):
    """The role could not be assumed. A later attempt may succeed: IAM takes seconds to know a new role everywhere."""


class _Assumer(CredentialProvider):
    """Assumes the role. botocore asks it once for all clients, and again 15 minutes before the credentials expire."""

    METHOD = "onthedot-assume-role"

    def __init__(self, role: str, sts: Callable[[], Any], now: Callable[[], datetime]) -> None:
        super().__init__()
        self._role, self._sts, self._now = role, sts, now
        self._refused, self._until = "", now()

    def load(self) -> DeferredRefreshableCredentials:
        return DeferredRefreshableCredentials(self._assume, self.METHOD, self._now)

    def _assume(self) -> dict[str, str]:
        """Return new credentials. botocore lets one thread in at a time.

        Threads that waited for a failure get the same one. Otherwise each of them would wait for its own timeout.
        """
        if self._now() < self._until:
            raise RoleNotAssumed(self._refused)
        try:
            return self._ask()
        except (ClientError, BotoCoreError, RoleNotAssumed) as error:
            self._refused = f"the role {self._role} for jobs' calls could not be assumed: {error}"
            self._until = self._now() + _FAILED
            raise RoleNotAssumed(self._refused) from error

    def _ask(self) -> dict[str, str]:
        given = self._sts().assume_role(RoleArn=self._role, RoleSessionName=SESSION_NAME)["Credentials"]
        if given["Expiration"] <= self._now():
            raise RoleNotAssumed(
                f"its credentials expired at {given['Expiration']}; the clock of this machine is wrong"
            )
        return {
            "access_key": given["AccessKeyId"],
            "secret_key": given["SecretAccessKey"],
            "token": given["SessionToken"],
            "expiry_time": given["Expiration"].isoformat(),
        }


def session_of(role: str, sts: Callable[[], Any], now: Callable[[], datetime] = _utc_now) -> boto3.Session:
    """Return a session with the credentials of a role. It assumes the role when a client first signs a call.

    `sts` makes a client of STS with the worker's own credentials. A call raises RoleNotAssumed when the role cannot be
    assumed, and the next call tries again.
    """
    inner = Session()
    inner.register_component("credential_provider", CredentialResolver([_Assumer(role, sts, now)]))
    return boto3.Session(botocore_session=inner)
