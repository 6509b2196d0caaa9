"""The answer that a failed AWS call means: the class of the failure, and whether another attempt can help."""

from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's own)
    ConnectTimeoutError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
    SSLError,
    UnknownServiceError,
)

from onthedot.core.ports import Answer, Call
from onthedot.engines.aws.errors import TRANSIENT
from onthedot.targets.answers import printable, refused, retry_after_seconds_ms, timed_out
from onthedot.targets.aws.clients import GarbledError, RoleNotAssumed

MAX_ERROR: Final = 500
_TEMPORARY: Final = TRANSIENT | {
    "ExpiredToken",  # the next attempt signs with fresh credentials
    "ExpiredTokenException",
    "RequestExpired",
}
_TEMPORARY_STATUSES: Final = frozenset({408, 429})


AwsError = ClientError | BotoCoreError | GarbledError | RoleNotAssumed
AWS_ERRORS: Final = (ClientError, BotoCoreError, GarbledError, RoleNotAssumed)
"""Every error of a call that `judge` turns into an answer."""


def judge(call: Call, error: AwsError, *, temporary: frozenset[str] = frozenset()) -> Answer:
    """`temporary` holds further codes of failures that may pass."""
    match error:
        case ClientError():
            return _answered(error, temporary)
        case GarbledError():
            why = printable(f"the reply cannot be read ({error})", MAX_ERROR)
            return Answer(ok=False, error=why, error_class="protocol")
        case ReadTimeoutError() | ConnectTimeoutError():
            return timed_out(call, "waiting for AWS")
        case ParamValidationError():
            return refused(printable(str(error), MAX_ERROR), "bad_input")
        case UnknownServiceError():
            return refused("there is no such AWS service", "unknown_service")
        case _:
            return Answer(ok=False, error=printable(str(error), MAX_ERROR), error_class=_class_of(error))


def _class_of(error: Exception) -> str:
    match error:
        case SSLError():
            return "tls"
        case HTTPClientError() | ConnectionError():
            return "connection"
        case NoCredentialsError() | PartialCredentialsError():
            return "no_credentials"
        case RoleNotAssumed():
            return "role_not_assumed"
        case _:
            return type(error).__name__


def _answered(error: ClientError, temporary: frozenset[str]) -> Answer:
    code = str(error.response.get("Error", {}).get("Code", ""))
    metadata: Mapping[str, Any] = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode", 0))
    retryable = code in _TEMPORARY | temporary or status >= 500 or status in _TEMPORARY_STATUSES
    wait = retry_after_seconds_ms(metadata.get("HTTPHeaders", {}).get("retry-after", ""))
    message = printable(str(error.response.get("Error", {}).get("Message") or ""), MAX_ERROR)
    return Answer(
        ok=False,
        error=f"{code}: {message}" if message else f"{code or status}",
        error_class=f"http_{status}" if not code or code.isdigit() else code,
        retryable=retryable,
        retry_after_ms=wait if retryable else None,
    )
