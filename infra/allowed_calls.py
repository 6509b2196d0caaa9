"""The AWS calls that jobs may make: the context values of the allow-list."""

from typing import Annotated, Any, Final, Self

from botocore import session
from botocore.exceptions import UnknownServiceError
from pydantic import Field, model_validator

from context_values import ContextModel
from onthedot.targets.rules import AllowedCall

Function = Annotated[
    str,
    Field(
        pattern=r"^(arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_*?-]{1,140}(:[A-Za-z0-9$_*?-]{1,128})?$"
    ),
]
"""The name or ARN of a function, with `*` and `?`. A version or an alias may follow."""
Resource = Annotated[str, Field(pattern=r"^(\*|arn:[\x21-\x7e]+)$")]

_ADVICE: Final = (
    'names no resources; say which, as in "{call} on arn:…" (several are separated by spaces), '
    'or "{call} on *" for all that are not onthedot\'s own'
)

# Jobs cannot do harm on the local AWS, so everything is there to try.
LOCAL_FUNCTIONS: Final = ("*",)
LOCAL_CALLS: Final = (
    "sqs:SendMessage on *",
    "sqs:ReceiveMessage on *",
    "sns:Publish on *",
    "events:PutEvents on *",
    "dynamodb:PutItem on *",
    "dynamodb:GetItem on *",
    "dynamodb:UpdateItem on *",
    "s3:PutObject on *",
    "s3:GetObject on *",
    {
        "service": "stepfunctions",
        "action": "StartExecution",
        "iam_action": "states:StartExecution",
        "resources": ["*"],
    },
)


class Call(ContextModel):
    """One entry of `aws_calls`: `service:Action on RESOURCE …` as text, or an object."""

    service: str = Field(pattern=r"^[a-z0-9-]+$")
    action: str = Field(pattern=r"^[A-Z][A-Za-z0-9]*$")
    iam_action: str = Field(default="", pattern=r"^[a-z0-9-]+:[A-Z][A-Za-z0-9]*$")
    """The name in IAM, if it differs."""
    resources: tuple[Resource, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        """Read the text form. Refuse a call that names no resources: all of them must be a choice, not a default."""
        if isinstance(value, str):
            call, *rest = value.split() or [""]
            service, _, action = call.partition(":")
            value = {"service": service, "action": action, "resources": rest[1:] if rest[:1] == ["on"] else []}
        if isinstance(value, dict) and not value.get("resources"):
            raise ValueError(_ADVICE.format(call=f"{value.get('service')}:{value.get('action')}"))
        return value

    @model_validator(mode="after")
    def _known(self) -> Self:
        """Refuse a call that boto3 does not know, because it would fail only when a job is due."""
        try:
            model = session.get_session().get_service_model(self.service)
        except UnknownServiceError as error:
            raise ValueError(f"boto3 has no service {self.service}") from error
        if self.action not in model.operation_names:
            raise ValueError(f"boto3's {self.service} has no action {self.action}")
        return self

    @property
    def allowed(self) -> AllowedCall:
        return AllowedCall(self.service, self.action)

    @property
    def grant(self) -> str:
        """The IAM action that permits the call."""
        return self.iam_action or f"{self.service}:{self.action}"
