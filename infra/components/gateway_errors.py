"""The errors that API Gateway answers by itself, in the same shape as the errors of the API."""

from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_apigateway as apigateway

_TYPES: Final = apigateway.ResponseType
# `messageString` is the message of the gateway, already quoted as JSON.
_GATEWAYS_MESSAGE: Final = "$context.error.messageString"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayError:
    """One kind of refusal. Without a status the gateway uses its own."""

    kind: apigateway.ResponseType
    code: str
    message: str | None = None
    status: int | None = None

    def template(self) -> str:
        message = _GATEWAYS_MESSAGE if self.message is None else f'"{self.message}"'
        return f'{{"error": {{"code": "{self.code}", "message": {message}, "details": []}}}}'


_NO_TOKEN = "send a valid token as `Authorization: Bearer <token>`"  # noqa: S105 - a text, not a token

ERRORS: Final = {
    "Unauthorized": GatewayError(kind=_TYPES.UNAUTHORIZED, code="unauthorized", status=401, message=_NO_TOKEN),
    "AccessDenied": GatewayError(
        kind=_TYPES.ACCESS_DENIED, code="forbidden", status=403, message="your token does not allow this"
    ),
    # The gateway says "Missing Authentication Token" when a route does not exist.
    "NoRoute": GatewayError(
        kind=_TYPES.MISSING_AUTHENTICATION_TOKEN, code="not_found", status=404, message="there is nothing here"
    ),
    "Throttled": GatewayError(
        kind=_TYPES.THROTTLED, code="too_many_requests", status=429, message="too many requests; try again later"
    ),
    "TooLarge": GatewayError(
        kind=_TYPES.REQUEST_TOO_LARGE, code="too_large", status=413, message="the request is too large"
    ),
    "Other4xx": GatewayError(kind=_TYPES.DEFAULT_4_XX, code="bad_request"),
    "Other5xx": GatewayError(
        kind=_TYPES.DEFAULT_5_XX,
        code="internal",
        message="something failed on our side; try again with the same idempotency key",
    ),
}


def shape_gateway_errors(api: apigateway.RestApi) -> None:
    for construct_id, error in ERRORS.items():
        api.add_gateway_response(
            construct_id,
            type=error.kind,
            status_code=None if error.status is None else str(error.status),
            templates={"application/json": error.template()},
            response_headers={"WWW-Authenticate": "'Bearer'"} if error.status == 401 else None,
        )
