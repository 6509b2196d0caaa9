"""Serve the REST API behind API Gateway."""

import base64
import os
from typing import Any
from urllib.parse import urlsplit

from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.router import handle as route
from onthedot.core.traces import fresh_trace, read_xray
from onthedot.engines.store_around import counted
from onthedot.observability import Metrics, logger
from onthedot.settings import ApiSettings
from onthedot.wiring.aws import api_engine, observe_clients

_settings = ApiSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage, detailed=_settings.detailed_metrics)
observe_clients(_metrics)
# Runs of workers that use the API start and end here.
_engine = counted(api_engine(_settings), _metrics)
_log = logger("api")


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one request."""
    request = _request(event, context)
    response = route(_engine, request)
    _metrics.flush()
    about = {"method": request.method, "path": request.path, "status": response.status}
    _log.info("answered", extra={**about, "trace_id": request.trace.split("-")[0]})
    return {"statusCode": response.status, "headers": dict(response.headers), "body": response.text}


def _request(event: dict[str, Any], context: Any) -> Request:
    body = event.get("body") or ""
    authorizer = (event.get("requestContext") or {}).get("authorizer") or {}
    return Request(
        method=event["httpMethod"],
        path=_path(event),
        query=event.get("queryStringParameters") or {},
        repeated_query=_repeated(event.get("multiValueQueryStringParameters") or {}),
        headers=event.get("headers") or {},
        body=base64.b64decode(body) if event.get("isBase64Encoded") else body.encode("utf-8", "surrogatepass"),
        principal=_principal(authorizer),
        request_id=context.aws_request_id,
        public_url=_settings.public_url,
        own_trace=read_xray(os.environ.get("_X_AMZN_TRACE_ID")) or fresh_trace(),
    )


def _repeated(values: dict[str, list[str]]) -> tuple[str, ...]:
    """Return the parameters that have more than one value."""
    return tuple(name for name, given in values.items() if len(given) > 1)


def _path(event: dict[str, Any]) -> str:
    """Return the path of the route. On a domain of its own, API Gateway passes the path with the base path."""
    path = str(event["path"])
    domain = urlsplit(_settings.public_url)
    if (event.get("requestContext") or {}).get("domainName") != domain.netloc:
        return path
    return path.removeprefix(domain.path) or "/"


def _principal(authorizer: dict[str, Any]) -> Principal | None:
    """Return the caller that the authorizer found. Without a tenant there is none."""
    if not authorizer.get("tenant"):
        return None
    return Principal(str(authorizer["tenant"]), str(authorizer["role"]), str(authorizer["name"]))
