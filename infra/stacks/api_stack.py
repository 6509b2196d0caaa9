"""The REST API in front of one function, with a token authorizer, errors of one shape, and logs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aws_cdk import CfnOutput, Duration, Environment, RemovalPolicy, Size, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from constructs import Construct

from components.scheduler_function import FunctionFactory, FunctionShape, allow, log_group, store_settings
from components.worker_grants import (
    CONSUME,
    READS,
    SEND,
    WRITES,
    deleting_gates_and_tokens,
    indexing_patterns,
    no_tokens,
)
from onthedot.core import schema
from onthedot.core.pools import PoolKind
from onthedot.core.schema import TOKEN_PREFIX
from onthedot.settings import ApiSettings, AuthorizerSettings
from onthedot.targets import rules
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig


def api_domain(stack: Stack, api: apigateway.RestApi, config: StageConfig, name: str, certificate_arn: str) -> None:
    """Serve the API under the domain. Without a hosted zone, the output `DomainTarget` says where it must point."""
    domain = apigateway.DomainName(
        stack,
        "Domain",
        domain_name=name,
        certificate=acm.Certificate.from_certificate_arn(stack, "Certificate", certificate_arn),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
    )
    domain.add_base_path_mapping(api, base_path=config.base_path, stage=api.deployment_stage)
    CfnOutput(stack, "DomainTarget", value=domain.domain_name_alias_domain_name)
    if config.hosted_zone is not None:
        zone = route53.HostedZone.from_hosted_zone_attributes(
            stack, "Zone", hosted_zone_id=config.hosted_zone.zone_id, zone_name=config.hosted_zone.name
        )
        target = route53.RecordTarget.from_alias(targets.ApiGatewayDomain(domain))
        route53.ARecord(stack, "DomainRecord", zone=zone, record_name=f"{name}.", target=target)


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
    """Give the errors that API Gateway answers by itself the shape of the API's own errors."""
    for construct_id, error in ERRORS.items():
        api.add_gateway_response(
            construct_id,
            type=error.kind,
            status_code=None if error.status is None else str(error.status),
            templates={"application/json": error.template()},
            response_headers={"WWW-Authenticate": "'Bearer'"} if error.status == 401 else None,
        )


# API Gateway gives up after 29 s. The function should be the one that reports the timeout.
API: Final = FunctionShape(memory_mb=1024, timeout=Duration.seconds(28))
AUTHORIZER: Final = FunctionShape(memory_mb=512, timeout=Duration.seconds(5))
OPEN_PATHS: Final = ("/v1/health", "/openapi.json", "/console")
CONSOLE_FILES: Final = "/console/{proxy+}"
# Anyone may call them, so a flood of them must cost little, and leave the function to callers with a token.
OPEN_RATE, OPEN_BURST = 20, 40
# The console's first load asks for some 50 files. A browser keeps them forever.
FILES_RATE, FILES_BURST = 50, 200
LEAST_COMPRESSED: Final = Size.bytes(1024)
# The caller, the request and the outcome. Never a header or a body, which may contain secrets.
ACCESS_LOG: Final = {
    "request_id": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "ip": "$context.identity.sourceIp",
    "user_agent": "$context.identity.userAgent",
    "principal": "$context.authorizer.principalId",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "latency_ms": "$context.responseLatency",
    "integration_ms": "$context.integrationLatency",
    "error": "$context.error.responseType",
    "trace": "$context.xrayTraceId",
}


class ApiStack(Stack):
    """The API. Everything under `/v1` except the health check needs a token. The function does the routing."""

    def __init__(
        self,
        scope: Construct,
        config: StageConfig,
        env: Environment,
        *,
        data: DataStack,
        queues: QueuesStack,
        dependencies: Path,
    ) -> None:
        super().__init__(scope, config.name("api"), env=env, description="onthedot: REST API")
        self._config, self._data, self._queues = config, data, queues
        self._functions = FunctionFactory(self, config, dependencies)
        self.rest_api = self._rest_api()
        self._add_routes(self._api_function(), self._token_authorizer())
        shape_gateway_errors(self.rest_api)
        self._bound_execution_logs()
        self.base_url = (
            f"https://{self.rest_api.rest_api_id}.execute-api.{self.region}.{self.url_suffix}/{config.stage}"
        )
        """The URL before the paths of the API, without a slash at the end."""
        CfnOutput(self, "ApiId", value=self.rest_api.rest_api_id)
        # A pool with a shell imports it. CloudFormation would refuse to remove it while that stack is there.
        self.export_value(self.rest_api.rest_api_id)
        CfnOutput(self, "ApiUrl", value=f"{config.public_url}/" if config.public_url else self.rest_api.url)
        if config.domain_name and config.certificate_arn:
            api_domain(self, self.rest_api, config, config.domain_name, config.certificate_arn)

    def _api_function(self) -> lambda_.Function:
        settings = ApiSettings(
            **store_settings(self._config, self._data, self._queues),
            blob_bucket=self._data.blobs.bucket_name,
            allow_list=rules.to_json(self._config.allow_list),
            public_url=self._config.public_url,
        )
        function = self._functions.make("api", settings, API)
        # An export scans the table, and shows about how many items there are.
        exports = ["dynamodb:Scan", "dynamodb:DescribeTable"]
        allow(function, [*READS, *exports, *WRITES], [self._data.table.table_arn])
        function.add_to_role_policy(indexing_patterns(self._data))
        function.add_to_role_policy(deleting_gates_and_tokens(self._data))
        allow(function, ["dynamodb:Query"], [self._data.index_arn(index) for index in schema.INDEXES])
        allow(function, ["s3:PutObject", "s3:GetObject"], [self._data.blobs.arn_for_objects("*")])
        # Without it S3 answers 403 to a missing key, which looks the same as a wrong policy.
        allow(function, ["s3:ListBucket"], [self._data.blobs.bucket_arn])
        # A token is put and deleted as a whole. The calls that change jobs and runs must not change one.
        changes = ["dynamodb:UpdateItem", "dynamodb:PartiQL*", "dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"]
        function.add_to_role_policy(no_tokens(self._data, *changes))
        # `GET /v1/queues` counts the messages, and asks for the age of the oldest one, which has no ARN.
        dead_letters = self.format_arn(service="sqs", resource=self._config.name("*-dlq"))
        allow(function, ["sqs:GetQueueAttributes"], [dead_letters])
        allow(function, ["cloudwatch:GetMetricData"], ["*"])
        for pool in self._config.all_pools:
            # A worker that has only a token gets its runs through the API.
            pulled = CONSUME if pool.kind is PoolKind.PULL else ()
            allow(function, [*SEND, *pulled], self._queues.pool_queue_arns(pool))
        return function

    def _token_authorizer(self) -> apigateway.TokenAuthorizer:
        settings = AuthorizerSettings(stage=self._config.stage, table=self._data.table.table_name)
        function = self._functions.make("authorizer", settings, AUTHORIZER)
        only_tokens = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{TOKEN_PREFIX}*"]}}
        function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["dynamodb:GetItem"], resources=[self._data.table.table_arn], conditions=only_tokens
            )
        )
        return apigateway.TokenAuthorizer(
            self,
            "TokenAuthorizer",
            handler=function,
            identity_source=apigateway.IdentitySource.header("Authorization"),
            # The gateway refuses a header that cannot be a token, at no cost to us.
            validation_regex=r"^[Bb]earer +\S+$",
            # A revoked or expired token goes on working for this time at most, which must be less than a minute.
            # Without the cache, every request would call the function.
            results_cache_ttl=Duration.seconds(10 if self._config.local else 50),
        )

    def _rest_api(self) -> apigateway.RestApi:
        return apigateway.RestApi(
            self,
            "Api",
            rest_api_name=self._config.name("api"),
            description="onthedot, the job scheduler",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            # Access logs need a role in the account's API Gateway settings, and a new account has none.
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN,
            deploy_options=self._stage_options(),
            min_compression_size=LEAST_COMPRESSED,
        )

    def _stage_options(self) -> apigateway.StageOptions:
        access_logs = log_group(self, "AccessLogs", f"/onthedot/{self._config.stage}/api-access", self._config)
        # API Gateway counts each method separately. The settings of one method take the place of all the others.
        few = self._at_most(OPEN_RATE, OPEN_BURST)
        files = self._at_most(FILES_RATE, FILES_BURST)
        return apigateway.StageOptions(
            stage_name=self._config.stage,
            throttling_rate_limit=self._config.api_rate,
            throttling_burst_limit=self._config.api_burst,
            tracing_enabled=self._config.xray,
            logging_level=apigateway.MethodLoggingLevel.ERROR,
            method_options={**{f"{path}/GET": few for path in OPEN_PATHS}, f"{CONSOLE_FILES}/GET": files},
            access_log_destination=apigateway.LogGroupLogDestination(access_logs),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG)),
        )

    def _at_most(self, rate: int, burst: int) -> apigateway.MethodDeploymentOptions:
        return apigateway.MethodDeploymentOptions(
            throttling_rate_limit=min(rate, self._config.api_rate),
            throttling_burst_limit=min(burst, self._config.api_burst),
            logging_level=apigateway.MethodLoggingLevel.ERROR,
        )

    def _add_routes(self, function: lambda_.Function, authorizer: apigateway.TokenAuthorizer) -> None:
        integration = apigateway.LambdaIntegration(
            function,
            scope_permission_to_method=False,
        )
        root = self.rest_api.root
        for path in (*OPEN_PATHS, CONSOLE_FILES):
            root.resource_for_path(path).add_method("GET", integration)
        # `/v1` exists as the parent of the health check, so it needs its own catch-all in addition to the one of the
        # root.
        for parent in (root, root.resource_for_path("/v1")):
            parent.add_resource("{proxy+}").add_method("ANY", integration, authorizer=authorizer)

    def _bound_execution_logs(self) -> None:
        # API Gateway would make this group itself, with this name, and never delete its logs.
        name = f"API-Gateway-Execution-Logs_{self.rest_api.rest_api_id}/{self._config.stage}"
        group = log_group(self, "ExecutionLogs", name, self._config)
        self.rest_api.deployment_stage.node.add_dependency(group)
