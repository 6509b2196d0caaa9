"""What jobs may call in AWS's name: the context values that become the allow-list, and the grants that come from it."""

from collections.abc import Iterator
from typing import Any, Final

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from botocore import session
from botocore.exceptions import UnknownServiceError

from context_fields import Fields, listed
from context_values import BadContext
from onthedot.domain.targets.allow_list import AllowedCall, AllowList

_FUNCTION: Final = r"(arn:[a-z-]+:lambda:[a-z0-9-]+:\d{12}:function:)?[A-Za-z0-9_*?-]{1,140}(:[A-Za-z0-9$_*?-]{1,128})?"
"""A function's name or ARN, with `*` and `?`; a version or an alias may stand behind it."""
_ACTION: Final = r"[a-z0-9-]+:[A-Z][A-Za-z0-9]*"
_CALL_FIELDS: Final = ("service", "action", "iam_action", "resources")

# On the local AWS nothing can be harmed, and everything should be there to try.
LOCAL_FUNCTIONS: Final = ("*",)
LOCAL_CALLS: Final = (
    AllowedCall("sqs", "SendMessage"),
    AllowedCall("sqs", "ReceiveMessage"),
    AllowedCall("sns", "Publish"),
    AllowedCall("events", "PutEvents"),
    AllowedCall("dynamodb", "PutItem"),
    AllowedCall("dynamodb", "GetItem"),
    AllowedCall("dynamodb", "UpdateItem"),
    AllowedCall("s3", "PutObject"),
    AllowedCall("s3", "GetObject"),
    AllowedCall("stepfunctions", "StartExecution", "states:StartExecution"),
)


def read_functions(key: str, value: Any) -> tuple[str, ...]:
    names = listed(key, value)
    return Fields(key, {key: names}, [key]).texts(key, _FUNCTION) if names else ()


def read_calls(key: str, value: Any) -> tuple[AllowedCall, ...]:
    """Raises `BadContext` for a service or an action that boto3 does not know: it would only fail when it is due."""
    return tuple(_call(key, entry) for entry in listed(key, value))


def _call(key: str, entry: Any) -> AllowedCall:
    if isinstance(entry, str):
        service, _, action = entry.partition(":")
        entry = {"service": service, "action": action}
    fields = Fields(key, entry, _CALL_FIELDS)
    call = AllowedCall(
        fields.text("service", r"[a-z0-9-]+"),
        fields.text("action", r"[A-Z][A-Za-z0-9]*"),
        fields.text("iam_action", _ACTION, "") if fields.has("iam_action") else "",
        fields.texts("resources", r"\*|arn:[\x21-\x7e]+", ("*",)),
    )
    _check_known(key, call)
    return call


def _check_known(key: str, call: AllowedCall) -> None:
    try:
        model = session.get_session().get_service_model(call.service)
    except UnknownServiceError as error:
        raise BadContext(key, call.service, "boto3 knows no such service") from error
    if call.action not in model.operation_names:
        raise BadContext(key, f"{call.service}:{call.action}", f"boto3's {call.service} has no such action")


def grants(stack: Stack, allowed: AllowList) -> Iterator[iam.PolicyStatement]:
    """What a worker must be allowed so that its jobs can do what is on the list, and nothing else."""
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
