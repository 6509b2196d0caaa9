"""Authorize a request to the API by its token: find tenant and role, and refuse every other token."""

import os
from typing import Any

from onthedot.access.tokens import authenticate
from onthedot.observability import logger
from onthedot.settings import AuthorizerSettings
from onthedot.wiring.aws import token_store

_tokens = token_store(AuthorizerSettings.from_environment(os.environ).table)
_log = logger("authorizer")


class Unauthorized(Exception):
    """The token is not valid. API Gateway answers 401 when the message is exactly `Unauthorized`."""


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001
    """Return the policy and the context of the caller. Raise Unauthorized."""
    principal = authenticate(_tokens, event.get("authorizationToken"))
    if principal is None:
        _log.info("refused")
        raise Unauthorized("Unauthorized")
    return {
        "principalId": f"{principal.tenant}/{principal.name}",
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": _whole_stage(event["methodArn"])}
            ],
        },
        "context": {"tenant": principal.tenant, "role": principal.role, "name": principal.name},
    }


def _whole_stage(method_arn: str) -> str:
    """Return a resource that covers all methods: API Gateway caches the answer for the token, not for the method."""
    api, stage = method_arn.split("/")[:2]
    return f"{api}/{stage}/*"
