"""Functions run on their layers and their role, and on nothing else: a missing part fails."""

import io
import json
import zipfile
from typing import Any

import pytest

from layers.build import LAMBDA_PYTHON
from tests.e2e.deployment import Deployment


def invoke_once(deployment: Deployment, name: str, code: str, role_of: str, *, layers: bool = True) -> tuple[Any, bool]:
    """What a function of this code answers under the role of one of ours, and whether it failed."""
    lambda_ = deployment.client("lambda")
    ours: Any = lambda_.get_function(FunctionName=f"onthedot-local-{role_of}")["Configuration"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("handler.py", code)
    lambda_.create_function(
        FunctionName=name,
        Runtime=f"python{LAMBDA_PYTHON}",
        Role=ours["Role"],
        Layers=[layer["Arn"] for layer in ours["Layers"]] if layers else [],
        Handler="handler.handle",
        Code={"ZipFile": archive.getvalue()},
    )
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


@pytest.mark.parametrize(("package", "there"), [("boto3", True), ("pydantic", True), ("rich", False), ("moto", False)])
def test_a_function_can_import_what_is_in_its_layers_only(deployment: Deployment, package: str, there: bool) -> None:
    assert imported(deployment, package, layers=True) is there


@pytest.mark.parametrize("package", ["boto3", "pydantic"])
def test_a_function_without_layers_can_import_nothing(deployment: Deployment, package: str) -> None:
    assert not imported(deployment, package, layers=False)


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
