"""Clients that are leaner than boto3, with the same methods for the few calls on the hot path.

`raw_parsing` keeps boto3 and replaces its response parser. `LeanClient` uses no boto: JSON out, SigV4, JSON in.
The product uses neither. They show how much time a change would save.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

ACCESS_KEY: Final = "AKIDEXAMPLE"
SECRET_KEY: Final = "secret"  # noqa: S105 - of an account that does not exist
_JSON: Final = "application/x-amz-json-1.0"

Send = Callable[[str, bytes], bytes]
"""A function that takes `X-Amz-Target` and the body of a request, and returns the body of the reply."""


class _RawParser:
    """A parser that only reads JSON. For DynamoDB and SQS the result is the same, except for dates and blobs."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def parse(self, response: Any, shape: Any) -> Any:
        if response["status_code"] >= 300:
            return self._parser.parse(response, shape)
        return {**json.loads(response["body"]), "ResponseMetadata": {"HTTPStatusCode": response["status_code"]}}


class _RawParsers:
    """A replacement of a client's parser factory, which it shares with all clients of its session."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def create_parser(self, protocol: str) -> _RawParser:
        return _RawParser(self._factory.create_parser(protocol))


def raw_parsing(client: Any) -> Any:
    """Let this boto3 client read replies as plain JSON, and return it."""
    endpoint = client._endpoint
    endpoint._response_parser_factory = _RawParsers(endpoint._response_parser_factory)
    return client


class LeanClient:
    """A client with `query(...)` and the other operations, under their names in boto3."""

    def __init__(self, service: str, version: str, send: Send, region: str = "us-east-1") -> None:
        self._service = service
        self._version = version
        self._send = send
        self._region = region
        self._host = f"{service}.{region}.amazonaws.com"
        self._day = ""
        self._key = b""

    def __getattr__(self, method: str) -> Callable[..., Any]:
        operation = "".join(word.capitalize() for word in method.split("_"))

        def call(**arguments: Any) -> Any:
            return self._call(operation, arguments)

        # The next call finds it without `__getattr__`.
        setattr(self, method, call)
        return call

    def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        body = json.dumps(arguments, separators=(",", ":")).encode()
        target = f"{self._version}.{operation}"
        self.signed_headers(target, body, datetime.now(UTC))
        return json.loads(self._send(target, body))

    def signed_headers(self, target: str, body: bytes, at: datetime) -> dict[str, str]:
        """Return the headers of AWS Signature Version 4. The day's key is kept. The stub reads only the target."""
        now = at.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now[:8]}/{self._region}/{self._service}/aws4_request"
        signed = "content-type;host;x-amz-date;x-amz-target"
        canonical = (
            f"POST\n/\n\ncontent-type:{_JSON}\nhost:{self._host}\nx-amz-date:{now}\nx-amz-target:{target}\n\n"
            f"{signed}\n{hashlib.sha256(body).hexdigest()}"
        )
        text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.new(self._signing_key(now[:8]), text.encode(), hashlib.sha256).hexdigest()
        credential = f"Credential={ACCESS_KEY}/{scope}, SignedHeaders={signed}, Signature={signature}"
        return {
            "Content-Type": _JSON,
            "X-Amz-Date": now,
            "X-Amz-Target": target,
            "Authorization": f"AWS4-HMAC-SHA256 {credential}",
        }

    def _signing_key(self, day: str) -> bytes:
        if day != self._day:
            key = f"AWS4{SECRET_KEY}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.new(key, part.encode(), hashlib.sha256).digest()
            self._day, self._key = day, key
        return self._key
