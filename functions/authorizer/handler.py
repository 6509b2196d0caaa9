"""Token → tenant and role. Whatever is not plainly allowed is refused."""

import os
from typing import Any

from onthedot.observability import logger
from onthedot.settings import AuthorizerSettings
from onthedot.use_cases.access.issue_token import authenticate
from onthedot.wiring.aws import token_store

_tokens = token_store(AuthorizerSettings.from_environment(os.environ))
_log = logger("authorizer")


class Unauthorized(Exception):
    """API Gateway answers 401 when the message is exactly `Unauthorized`."""


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001
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
    """The answer is cached for the token, so it must not be bound to the one method that was called first."""
    api, stage = method_arn.split("/")[:2]
    return f"{api}/{stage}/*"
