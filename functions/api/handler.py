"""Serve the REST API behind API Gateway."""

import base64
import os
from typing import Any

from onthedot.api.core.http import Request
from onthedot.api.core.router import handle as route
from onthedot.observability import logger
from onthedot.ports import Principal
from onthedot.settings import ApiSettings
from onthedot.wiring.aws import api_engine

_engine = api_engine(ApiSettings.from_environment(os.environ))
_log = logger("api")


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one request."""
    request = _request(event, context)
    response = route(_engine, request)
    _log.info("answered", extra={"method": request.method, "path": request.path, "status": response.status})
    return {"statusCode": response.status, "headers": dict(response.headers), "body": response.text}


def _request(event: dict[str, Any], context: Any) -> Request:
    body = event.get("body") or ""
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    return Request(
        method=event["httpMethod"],
        path=event["path"],
        query=event.get("queryStringParameters") or {},
        headers=event.get("headers") or {},
        body=base64.b64decode(body) if event.get("isBase64Encoded") else body.encode("utf-8", "surrogatepass"),
        principal=_principal(authorizer),
        request_id=context.aws_request_id,
    )


def _principal(authorizer: dict[str, Any]) -> Principal | None:
    """Return the caller that the authorizer found. Without a tenant there is none."""
    if not authorizer.get("tenant"):
        return None
    return Principal(str(authorizer["tenant"]), str(authorizer["role"]), str(authorizer["name"]))
