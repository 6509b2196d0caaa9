"""The AWS calls that jobs may make: the context values of the allow-list, and the grants that follow from it."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Self

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from botocore import session
from botocore.exceptions import UnknownServiceError
from pydantic import Field, model_validator

from context_values import ContextModel
from onthedot.domain.targets.allow_list import AllowedCall, AllowList

Function = Annotated[
    str,
    Field(
        pattern=r"^(arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_*?-]{1,140}(:[A-Za-z0-9$_*?-]{1,128})?$"
    ),
]
"""The name or ARN of a function, with `*` and `?`. A version or an alias may follow."""
Resource = Annotated[str, Field(pattern=r"^(\*|arn:[\x21-\x7e]+)$")]

# Jobs cannot do harm on the local AWS, so everything is there to try.
LOCAL_FUNCTIONS: Final = ("*",)
LOCAL_CALLS: Final = (
    "sqs:SendMessage",
    "sqs:ReceiveMessage",
    "sns:Publish",
    "events:PutEvents",
    "dynamodb:PutItem",
    "dynamodb:GetItem",
    "dynamodb:UpdateItem",
    "s3:PutObject",
    "s3:GetObject",
    {"service": "stepfunctions", "action": "StartExecution", "iam_action": "states:StartExecution"},
)


class Call(ContextModel):
    """One entry of `aws_calls`: `service:Action` as text, or an object."""

    service: str = Field(pattern=r"^[a-z0-9-]+$")
    action: str = Field(pattern=r"^[A-Z][A-Za-z0-9]*$")
    iam_action: str = Field(default="", pattern=r"^[a-z0-9-]+:[A-Z][A-Za-z0-9]*$")
    """The name in IAM, if it differs."""
    resources: tuple[Resource, ...] = Field(default=("*",), min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        service, _, action = value.partition(":")
        return {"service": service, "action": action}

    @model_validator(mode="after")
    def _known(self) -> Self:
        """Refuse a call that boto3 does not know, because it would fail only when a job is due."""
        try:
            model = session.get_session().get_service_model(self.service)
        except UnknownServiceError as error:
            raise ValueError(f"boto3 knows no service {self.service}") from error
        if self.action not in model.operation_names:
            raise ValueError(f"boto3's {self.service} has no action {self.action}")
        return self

    @property
    def allowed(self) -> AllowedCall:
        return AllowedCall(self.service, self.action, self.iam_action, self.resources)


def grants(stack: Stack, allowed: AllowList) -> Iterator[iam.PolicyStatement]:
    """Yield the grants that a worker needs so that its jobs can make the calls on the list, and no others."""
    if allowed.functions:
        arns = [function_arn(stack, function) for function in allowed.functions]
        yield iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=arns)
    for call in allowed.calls:
        yield iam.PolicyStatement(actions=[call.grant], resources=list(call.resources))


def function_arn(stack: Stack, function: str) -> str:
    if function.startswith("arn:"):
        return function
    return stack.format_arn(
        service="lambda", resource="function", resource_name=function, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
