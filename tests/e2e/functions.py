"""Functions, roles and queues that tests make on the deployed stack."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

from layers.build import LAMBDA_PYTHON

Clients = Callable[[Any], Any]


def new_role(client: Clients, name: str, *allowed: str) -> str:
    """Return the ARN of a role for functions, which may do everything with the queues and tables of these ARNs."""
    trusted = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=_document(trusted))["Role"]
    if allowed:
        policy = _document({"Effect": "Allow", "Action": ["sqs:*", "dynamodb:*"], "Resource": list(allowed)})
        client("iam").put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=policy)
    return str(role["Arn"])


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def new_queue(client: Clients, name: str, **attributes: str) -> tuple[str, str]:
    """Return the URL and the ARN of a queue."""
    url = client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    made = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return url, made["Attributes"]["QueueArn"]


def new_function(client: Clients, name: str, code: str, role: str, **options: Any) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("handler.py", code)
    client("lambda").create_function(
        FunctionName=name,
        Runtime=f"python{LAMBDA_PYTHON}",
        Role=role,
        Handler="handler.handle",
        Code={"ZipFile": archive.getvalue()},
        **options,
    )
