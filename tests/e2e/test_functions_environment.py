"""Functions run on their layers and their role, and on nothing else: a missing part fails."""

import json
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function


def invoke_once(deployment: Deployment, name: str, code: str, role_of: str, *, layers: bool = True) -> tuple[Any, bool]:
    """What a function of this code answers under the role of one of ours, and whether it failed."""
    lambda_ = deployment.client("lambda")
    ours: Any = lambda_.get_function(FunctionName=f"onthedot-local-{role_of}")["Configuration"]
    made = {"Layers": [layer["Arn"] for layer in ours["Layers"]] if layers else []}
    new_function(deployment.client, name, code, ours["Role"], **made)
    try:
        reply = lambda_.invoke(FunctionName=name)
        return json.loads(reply["Payload"].read()), "FunctionError" in reply
    finally:
        lambda_.delete_function(FunctionName=name)


def imported(deployment: Deployment, package: str, *, layers: bool) -> bool:
    code = f"import {package}\ndef handle(event, context):\n    return {package}.__file__\n"
    answer, failed = invoke_once(deployment, f"imports-{package}", code, "worker", layers=layers)
    assert package in str(answer), "the module's file, or the error that names it"
    return not failed


def test_a_function_can_import_what_is_in_its_layers_only(deployment: Deployment) -> None:
    packages = {"boto3": True, "pydantic": True, "rich": False, "moto": False}
    assert {package: imported(deployment, package, layers=True) for package in packages} == packages
    assert not imported(deployment, "boto3", layers=False)
    assert not imported(deployment, "pydantic", layers=False)


WRITES_THE_TABLE = """
import boto3
def handle(event, context):
    item = {"pk": {"S": "forbidden"}, "sk": {"S": "forbidden"}}
    boto3.client("dynamodb").put_item(TableName="onthedot-local-jobs", Item=item)
    return "written"
"""


@pytest.mark.parametrize(("role_of", "may"), [("api", True), ("authorizer", False), ("planner", False)])
def test_a_function_may_do_only_what_its_role_allows(deployment: Deployment, role_of: str, may: bool) -> None:
    answer, failed = invoke_once(deployment, f"writes-as-{role_of}", WRITES_THE_TABLE, role_of)
    assert failed is not may
    assert answer == "written" if may else "AccessDenied" in str(answer)
    key = {"pk": {"S": "forbidden"}, "sk": {"S": "forbidden"}}
    deployment.client("dynamodb").delete_item(TableName=deployment.stack.table, Key=key)
