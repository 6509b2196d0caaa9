"""Functions run on nothing but their layers and boto3, so that a forgotten package fails here as on AWS."""

import io
import json
import zipfile

import pytest

from layers.build import LAMBDA_PYTHON
from tests.e2e.deployment import Deployment


@pytest.mark.parametrize(("package", "there"), [("boto3", True), ("rich", False), ("pydantic", False), ("moto", False)])
def test_a_function_without_layers_can_import_boto3_only(deployment: Deployment, package: str, there: bool) -> None:
    lambda_ = deployment.client("lambda")
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("handler.py", f"import {package}\ndef handle(event, context):\n    return 'imported'\n")
    role = lambda_.get_function(FunctionName="onthedot-local-worker")["Configuration"]["Role"]
    name = f"imports-{package}"
    lambda_.create_function(
        FunctionName=name,
        Runtime=f"python{LAMBDA_PYTHON}",
        Role=role,
        Handler="handler.handle",
        Code={"ZipFile": code.getvalue()},
    )
    reply = lambda_.invoke(FunctionName=name)
    answer = json.loads(reply["Payload"].read())
    lambda_.delete_function(FunctionName=name)
    if there:
        assert answer == "imported"
    else:
        assert package in str(answer)
        assert "FunctionError" in reply
