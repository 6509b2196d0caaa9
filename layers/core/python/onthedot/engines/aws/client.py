"""A client of DynamoDB and SQS for the operations that runs need, in place of boto3.

boto3 is most of the CPU time of a dispatcher and a worker, and most of their cold start. This client has the methods,
arguments and replies of boto3's clients, so the stores work with either. It validates nothing and knows no shapes: both
services speak JSON, and no attribute that we store is binary.

A call is tried as botocore's standard mode tries it: three times, with growing random pauses and a quota of retries. So
a call may be made twice although AWS did it the first time and only the reply was lost. Writes of runs expect what they
change: the second one is refused, and the store looks at what is there. A message that is sent twice is recognised by
its generation. The same holds for boto3.
"""

import hmac
import json
import random
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import cache, partial
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from urllib3 import HTTPConnectionPool, Timeout, connection_from_url
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ClosedPoolError, HTTPError, ProtocolError, TimeoutError  # noqa: A004 - urllib3's own

from onthedot import __version__
from onthedot.engines.aws.errors import TRANSIENT, ErrorReply, NoReply

CHOICE: Final = "ONTHEDOT_AWS_CLIENT"
"""This variable, set to `boto3`, turns the client off."""
USER_AGENT: Final = f"onthedot/{__version__}"
# Time-outs are short and retries are few, because the callers repeat calls themselves and see the clock and deadline.
CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 5
ATTEMPTS: Final = 3
CONNECTIONS: Final = 32

_NEEDED: Final = ("AWS_LAMBDA_FUNCTION_NAME", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ONLY_BOTO3: Final = (
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
)
"""Settings that boto3 obeys and this client does not know."""
_SUFFIXES: Final = {
    "cn-": "amazonaws.com.cn",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
}
"""The ends of host names in the partitions of AWS, by the beginning of their regions."""

_JSON: Final = "application/x-amz-json-1.0"
_encode: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_SOCKET_OPTIONS: Final = [*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]

_TRANSIENT_STATUSES: Final = frozenset({500, 502, 503, 504})
_CLOCK_CODES: Final = frozenset(
    {
        "AuthFailure",
        "InvalidSignatureException",
        "RequestExpired",
        "RequestInTheFuture",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
"""Codes that AWS answers when our clock is off, and in other cases."""
_CLOCK_SECONDS: Final = 240
"""AWS accepts a signature for five minutes. A clock that is less off than this is not the reason of a refusal."""
_QUOTA: Final = 500
_RETRY_COST: Final = 5
_TIMEOUT_COST: Final = 10

Watcher = Callable[[int, Mapping[str, Any]], None]
"""Gets the last reply of each call, also one with an `Error`, and the time at which its request was sent."""


class _Service(NamedTuple):
    version: str
    """The first part of the header `X-Amz-Target`."""
    operations: tuple[str, ...]
    headers: Mapping[str, str]
    """Headers of its own, whose names come behind all others."""
    nothing: bytes
    """What an empty reply means. In DynamoDB, an empty one would look like a missing item, so it is none."""


_SERVICES: Final = {
    "dynamodb": _Service(
        "DynamoDB_20120810",
        (
            "BatchExecuteStatement",
            "BatchGetItem",
            "BatchWriteItem",
            "DeleteItem",
            "DescribeTable",
            "GetItem",
            "PutItem",
            "Query",
            "Scan",
            "UpdateItem",
        ),
        {},
        b"",
    ),
    "sqs": _Service(
        "AmazonSQS",
        (
            "ChangeMessageVisibility",
            "DeleteMessage",
            "GetQueueAttributes",
            "ReceiveMessage",
            "SendMessage",
            "SendMessageBatch",
        ),
        {"x-amzn-query-mode": "true"},  # makes SQS name errors as it always did
        b"{}",
    ),
}


def is_usable(service: str, environment: Mapping[str, str]) -> bool:
    """Return whether this client can be used: in Lambda, whose keys are in the environment and last for the process."""
    asked = (environment.get(name, "").lower() for name in ONLY_BOTO3)
    return (
        service in _SERVICES
        and environment.get(CHOICE) != "boto3"
        and all(environment.get(name) for name in _NEEDED)
        and all(value in ("", "false") for value in asked)
    )


def _endpoint(service: str, region: str, environment: Mapping[str, str]) -> str:
    named = environment.get(f"AWS_ENDPOINT_URL_{service.upper()}") or environment.get("AWS_ENDPOINT_URL")
    suffix = next((end for prefix, end in _SUFFIXES.items() if region.startswith(prefix)), "amazonaws.com")
    return named or f"https://{service}.{region}.{suffix}"


class LeanClient:
    """DynamoDB or SQS, with a method for each of its operations. Safe to use from several threads.

    `environment` has the region, the endpoint if it is not AWS's own, and the keys, which are read for each request. A
    method raises ErrorReply when AWS answers with an error, and NoReply when no attempt got a usable reply.
    """

    def __init__(
        self,
        service: str,
        environment: Mapping[str, str],
        watchers: Sequence[Watcher] = (),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._service = _SERVICES[service]
        self._environment = environment
        region = environment["AWS_REGION"]
        self._endpoint = _endpoint(service, region, environment)
        url = urlsplit(self._endpoint)
        self._path = url.path or "/"
        self._host = url.netloc.removesuffix({"https": ":443", "http": ":80"}[url.scheme])
        self._scope = f"{region}/{service}/aws4_request"
        self._watchers = watchers
        self._sleep = sleep
        self._quota = _Quota()
        self._derived = ("", "", b"")
        self._clock_off = 0.0
        """Seconds by which our clock is behind that of AWS, once AWS has refused a signature for it."""
        self._lock = threading.Lock()
        self._pool: HTTPConnectionPool | None = None
        for operation in self._service.operations:
            setattr(self, re.sub(r"\B([A-Z])", r"_\1", operation).lower(), partial(self._call, operation))

    def _call(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        body = _encode(arguments).encode()
        # A receiver waits for messages before it replies.
        timeout = Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS + arguments.get("WaitTimeSeconds", 0))
        attempt = taken = 0
        while True:
            attempt += 1
            sent_at = time.time_ns() // 1_000_000
            try:
                reply = self._attempt(operation, body, timeout)
            except (ErrorReply, NoReply) as error:
                pause = self._pause(error, attempt)
                taken = _TIMEOUT_COST if isinstance(error.__cause__, TimeoutError) else _RETRY_COST
                if pause is None or attempt == ATTEMPTS or not self._quota.take(taken):
                    if isinstance(error, ErrorReply):
                        self._show(sent_at, error.response)
                    raise
                self._sleep(pause)
            else:
                self._quota.give(taken or 1)
                self._show(sent_at, reply)
                return reply

    def _show(self, sent_at: int, reply: Mapping[str, Any]) -> None:
        for watch in self._watchers:
            watch(sent_at, reply)

    def _attempt(self, operation: str, body: bytes, timeout: Timeout) -> dict[str, Any]:
        pool = self._connections()
        headers = self._headers(f"{self._service.version}.{operation}", body)
        try:
            found = pool.urlopen(
                "POST", self._path, body, headers, retries=False, redirect=False, timeout=timeout, decode_content=False
            )
            reply = _read(found.status, found.headers, found.data, self._service.nothing)
        except HTTPError as error:
            if isinstance(error, ProtocolError):
                # AWS closes idle connections, and after a freeze all of them are closed. None of them is used again.
                self._drop(pool)
            raise NoReply(f"{operation}: {error}") from error
        if found.status >= 300:
            raise ErrorReply(reply, operation)
        return reply

    def _pause(self, error: ErrorReply | NoReply, attempt: int) -> float | None:
        """Return the seconds until the next attempt. None: it would fail too."""
        if isinstance(error, ErrorReply):
            if self._set_clock(error):
                return 0
            if error.code not in TRANSIENT and error.status not in _TRANSIENT_STATUSES:
                return None
        elif attempt == 1 and isinstance(error.__cause__, ProtocolError | ClosedPoolError):
            return 0  # most likely it was an idle connection
        return random.uniform(0, 2 ** (attempt - 1))  # noqa: S311 - spreads retries

    def _set_clock(self, error: ErrorReply) -> bool:
        """Sign with the time of AWS from now on, if our clock explains the error."""
        date = error.response["ResponseMetadata"]["HTTPHeaders"].get("date")
        if error.code not in _CLOCK_CODES or date is None:
            return False
        try:
            off = parsedate_to_datetime(date).timestamp() - time.time()
        except ValueError:
            return False
        if abs(off) > _CLOCK_SECONDS:
            self._clock_off = off
        return abs(off) > _CLOCK_SECONDS

    def _headers(self, target: str, body: bytes) -> dict[str, str]:
        """Return the headers of a request, with its Signature Version 4. Those that are signed are in order."""
        keys = self._environment
        access, secret, token = keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"], keys.get("AWS_SESSION_TOKEN")
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + self._clock_off))
        headers = {"content-type": _JSON, "host": self._host, "x-amz-date": moment}
        if token:
            headers["x-amz-security-token"] = token
        headers["x-amz-target"] = target
        headers |= self._service.headers
        lines, names = "".join(f"{name}:{value}\n" for name, value in headers.items()), ";".join(headers)
        request = f"POST\n{self._path}\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{moment[:8]}/{self._scope}"
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._signing_key(secret, moment[:8]), text.encode(), "sha256").hex()
        credential = f"Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
        headers["authorization"] = f"AWS4-HMAC-SHA256 {credential}"
        headers["user-agent"] = USER_AGENT
        if trace := keys.get("_X_AMZN_TRACE_ID"):
            # Lambda stops a function whose messages call it again and again, and knows them by this header.
            headers["x-amzn-trace-id"] = trace
        return headers

    def _signing_key(self, secret: str, day: str) -> bytes:
        for_secret, for_day, key = self._derived
        if (for_secret, for_day) != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, *self._scope.split("/")):
                key = hmac.digest(key, part.encode(), "sha256")
            self._derived = (secret, day, key)
        return key

    def _connections(self) -> HTTPConnectionPool:
        pool = self._pool
        if pool is None:
            with self._lock:
                if (pool := self._pool) is None:
                    tls = {"ssl_context": _tls()} if self._endpoint.startswith("https:") else {}
                    pool = connection_from_url(
                        self._endpoint, maxsize=CONNECTIONS, socket_options=_SOCKET_OPTIONS, **tls
                    )
                    self._pool = pool
        return pool

    def close(self) -> None:
        """Close the connections that are idle."""
        if self._pool is not None:
            self._drop(self._pool)

    def _drop(self, pool: HTTPConnectionPool) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.close()


class _Quota:
    """Room for retries, which each retry takes and each success gives back: a service that is down gets few of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = _QUOTA

    def take(self, cost: int) -> bool:
        with self._lock:
            has_room = cost <= self._left
            self._left -= cost if has_room else 0
        return has_room

    def give(self, cost: int) -> None:
        if self._left < _QUOTA:
            with self._lock:
                self._left = min(self._left + cost, _QUOTA)


@cache
def _tls() -> ssl.SSLContext:
    """Return the context of all connections, because it takes 15 ms to make one: it reads the system's roots."""
    return ssl.create_default_context()


def _read(status: int, headers: Mapping[str, str], content: bytes, nothing: bytes) -> dict[str, Any]:
    """Return the reply as boto3 does. Raise ProtocolError for one that is garbled."""
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(zlib.crc32(content)):
        raise ProtocolError("the reply does not match its checksum")
    try:
        reply: Any = json.loads(content or nothing)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        if status < 300:
            raise ProtocolError("the reply is not a JSON object")
        reply = {}
    if status >= 300:
        code = str(reply.get("__type", status)).partition(":")[0].rpartition("#")[2]
        former = headers.get("x-amzn-query-error", "").partition(";")[0]
        reply["Error"] = {"Code": former or code, "Message": reply.get("message", reply.get("Message", ""))}
    return {**reply, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}}
