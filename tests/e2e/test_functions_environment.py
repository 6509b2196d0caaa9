"""Functions run on their layers and on nothing else: a missing part fails."""

import json
from typing import Any

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function


def imported(deployment: Deployment, package: str, *, layers: bool) -> bool:
    """Say whether a function with our layers, or with none, can import a package."""
    lambda_, name = deployment.client("lambda"), f"imports-{package}"
    ours: Any = lambda_.get_function(FunctionName="onthedot-local-worker")["Configuration"]
    code = f"import {package}\ndef handle(event, context):\n    return {package}.__file__\n"
    made = {"Layers": [layer["Arn"] for layer in ours["Layers"]] if layers else []}
    new_function(deployment.client, name, code, ours["Role"], **made)
    try:
        reply = lambda_.invoke(FunctionName=name)
        answer, failed = json.loads(reply["Payload"].read()), "FunctionError" in reply
    finally:
        lambda_.delete_function(FunctionName=name)
    assert package in str(answer), "the module's file, or the error that names it"
    return not failed


def test_a_function_can_import_what_is_in_its_layers_only(deployment: Deployment) -> None:
    packages = {"boto3": True, "pydantic": True, "rich": False, "moto": False}
    assert {package: imported(deployment, package, layers=True) for package in packages} == packages
    assert not imported(deployment, "boto3", layers=False)
    assert not imported(deployment, "pydantic", layers=False)
