"""The role of jobs' calls. The worker assumes it for the first call that needs it, and again before it expires."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import boto3
from botocore.credentials import CredentialProvider, CredentialResolver, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from onthedot.domain.errors import OnthedotError

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

        Threads that waited for a failure get the same one. Otherwise each of them would wait for its own time-out.
        """
        if self._now() < self._until:
            raise RoleNotAssumed(self._refused)
        try:
            return self._ask()
        except (ClientError, BotoCoreError, RoleNotAssumed) as error:
            self._refused = f"the role {self._role} of jobs' calls could not be assumed: {error}"
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
