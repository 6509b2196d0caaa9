"""An AWS account and a clone for the commands that deploy: fake clients, and a `cdk` that writes down its calls."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ACCOUNT = "123456789012"
ARN = f"arn:aws:iam::{ACCOUNT}:user/ada"
CDK = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path({root!r})
names = ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "PATH")
call = {{"arguments": sys.argv[1:], "environment": {{name: os.environ.get(name) for name in names}}, "at": os.getcwd()}}
with (here / "calls").open("a") as file:
    file.write(json.dumps(call) + "\\n")
if sys.argv[1] == "synth":
    out = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
    out.mkdir(parents=True, exist_ok=True)
    for name, content in json.loads((here / "assembly.json").read_text()).items():
        (out / name).write_text(json.dumps(content))
if "--outputs-file" in sys.argv:
    outputs = pathlib.Path(sys.argv[sys.argv.index("--outputs-file") + 1])
    outputs.write_text((here / "outputs.json").read_text())
failing = here / ("fail-" + sys.argv[1])
if failing.exists():
    print(failing.read_text())
    sys.exit(3)
"""


def refusal(code: str, said: str = "no") -> Exception:
    from botocore.exceptions import ClientError

    return ClientError({"Error": {"Code": code, "Message": said}}, "Call")


def no_credentials() -> Exception:
    from botocore.exceptions import NoCredentialsError

    return NoCredentialsError()


def no_answer(url: str) -> Exception:
    from botocore.exceptions import EndpointConnectionError

    return EndpointConnectionError(endpoint_url=url)


def assembly(concurrency: int = 129, *, images: bool = False, tasks: int = 0) -> dict[str, Any]:
    """The files of a `cdk synth` of one stack."""
    sources = [{"ScalingConfig": {"MaximumConcurrency": concurrency}}, {}]
    resources: dict[str, Any] = {
        f"Source{number}": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": one}
        for number, one in enumerate(sources)
    }
    if tasks:
        resources["Task"] = {"Type": "AWS::ECS::TaskDefinition", "Properties": {"Cpu": "2048"}}
        resources["Service"] = {"Type": "AWS::ECS::Service", "Properties": {"TaskDefinition": {"Ref": "Task"}}}
        target = {"ResourceId": {"Fn::GetAtt": ["Service", "Name"]}, "MaxCapacity": tasks}
        resources["Target"] = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": target}
    stack = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "onthedot-dev-api.template.json"}}
    return {
        "manifest.json": {"artifacts": {"onthedot-dev-api": stack, "Tree": {"type": "cdk:tree"}}},
        "onthedot-dev-api.template.json": {"Resources": resources},
        "onthedot-dev-api.assets.json": {"dockerImages": {"image": {}} if images else {}},
    }


@dataclass
class FakeClone:
    """A clone with a `cdk` that does nothing."""

    root: Path

    def calls(self) -> list[dict[str, Any]]:
        written = self.root / "calls"
        return [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []

    def arguments(self, command: str) -> list[str]:
        [call] = [one for one in self.calls() if one["arguments"][0] == command]
        return list(call["arguments"])

    def will_synthesize(self, files: dict[str, Any]) -> None:
        (self.root / "assembly.json").write_text(json.dumps(files))

    def will_fail(self, command: str, saying: str) -> None:
        (self.root / f"fail-{command}").write_text(saying)


def fake_clone(root: Path, python: str) -> FakeClone:
    for name, content in {"localstack/local.py": "", "cdk.json": '{"context": {}}'}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    cdk = root / "node_modules" / ".bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    cdk.write_text(CDK.format(python=python, root=str(root)))
    cdk.chmod(0o755)
    outputs = {"ApiUrl": "https://abc.execute-api.eu-west-1.amazonaws.com/dev/", "ApiId": "abc"}
    (root / "outputs.json").write_text(json.dumps({"onthedot-dev-api": outputs}))
    clone = FakeClone(root)
    clone.will_synthesize(assembly())
    return clone


@dataclass
class FakeAccount:
    """The answers of an account. A test changes them."""

    identity: Exception | None = None
    bootstrap: int | Exception | None = 31
    concurrency: int | Exception = 1000
    fargate: float | None = 6.0
    """The account's own value of the quota, or None: then there is only AWS's default, which is 6."""
    roles: set[str] = field(default_factory=lambda: {"AWSServiceRoleForECS"})
    stacks: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, list[str]] = field(default_factory=dict)
    undeletable: dict[str, str] = field(default_factory=dict)
    """Names of stacks that cannot be deleted, with the reason."""
    deleted: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Resources that an earlier deletion of their stack deleted before it failed."""

    def client(self, service: str, **_: Any) -> Any:
        return _Client(self)

    def add_stack(self, name: str, resources: dict[str, tuple[str, str, str | None]], protected: bool = False) -> None:
        """Add a stack with resources: logical id -> type, physical id, deletion policy."""
        self.stacks[name] = {"resources": resources, "protected": protected}


class _Client:
    """Every service in one, with the calls that the commands make."""

    @property
    def exceptions(self) -> Any:
        from botocore import exceptions

        return exceptions

    def __init__(self, account: FakeAccount) -> None:
        self._account = account

    def get_caller_identity(self) -> Any:
        if self._account.identity is not None:
            raise self._account.identity
        return {"Account": ACCOUNT, "Arn": ARN}

    def get_role(self, RoleName: str) -> Any:  # noqa: N803
        if RoleName not in self._account.roles:
            raise refusal("NoSuchEntity")
        return {"Role": {"RoleName": RoleName}}

    def get_parameter(self, Name: str) -> Any:  # noqa: N803
        assert Name == "/cdk-bootstrap/hnb659fds/version"
        version = self._account.bootstrap
        if version is None:
            raise refusal("ParameterNotFound")
        if isinstance(version, Exception):
            raise version
        return {"Parameter": {"Value": str(version)}}

    def get_account_settings(self) -> Any:
        limit = self._account.concurrency
        if isinstance(limit, Exception):
            raise limit
        return {"AccountLimit": {"ConcurrentExecutions": 5000, "UnreservedConcurrentExecutions": limit}}

    def get_service_quota(self, ServiceCode: str, QuotaCode: str) -> Any:  # noqa: N803
        assert (ServiceCode, QuotaCode) == ("fargate", "L-3032A538")
        if self._account.fargate is None:
            raise refusal("NoSuchResourceException")
        return {"Quota": {"Value": self._account.fargate}}

    def get_aws_default_service_quota(self, **_: str) -> Any:
        return {"Quota": {"Value": 6.0}}

    def _stack(self, name: str) -> dict[str, Any]:
        short = name.removeprefix("arn:")
        if short not in self._account.stacks:
            raise refusal("ValidationError", f"Stack with id {name} does not exist")
        return self._account.stacks[short]

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803
        stack = self._stack(StackName)
        return {"Stacks": [{"StackId": f"arn:{StackName}", "EnableTerminationProtection": stack["protected"]}]}

    def get_template(self, StackName: str, TemplateStage: str) -> Any:  # noqa: N803
        assert TemplateStage == "Processed"
        policies = {name: policy for name, (_, _, policy) in self._stack(StackName)["resources"].items()}
        written = {name: {"DeletionPolicy": policy} if policy else {} for name, policy in policies.items()}
        return {"TemplateBody": {"Resources": written}}

    def get_paginator(self, operation: str) -> Any:
        return _Pages(self, operation)

    def pages_of_list_stack_resources(self, StackName: str) -> Any:  # noqa: N803
        for name, (kind, physical, _) in self._stack(StackName)["resources"].items():
            status = "DELETE_COMPLETE" if physical in self._account.gone else "CREATE_COMPLETE"
            summary = {"LogicalResourceId": name, "ResourceType": kind, "PhysicalResourceId": physical}
            summary["ResourceStatus"] = status
            yield {"StackResourceSummaries": [summary]}

    def pages_of_list_objects_v2(self, Bucket: str) -> Any:  # noqa: N803
        if Bucket in self._account.gone:
            raise refusal("NoSuchBucket")
        yield {"Contents": [{"Key": key} for key in self._account.objects.get(Bucket, [])]}
        yield {}

    def delete_objects(self, Bucket: str, Delete: Any) -> Any:  # noqa: N803
        for entry in Delete["Objects"]:
            self._account.objects[Bucket].remove(entry["Key"])
        return {}

    def delete_stack(self, StackName: str) -> None:  # noqa: N803
        name = StackName.removeprefix("arn:")
        kept = {name for name, (_, _, policy) in self._stack(StackName)["resources"].items() if policy == "Retain"}
        for logical, (_, physical, _) in self._stack(StackName)["resources"].items():
            assert logical in kept or not self._account.objects.get(physical), "CloudFormation refuses a full bucket"
        if name not in self._account.undeletable:
            self._account.deleted.append(name)

    def get_waiter(self, name: str) -> Any:
        assert name == "stack_delete_complete"
        return self

    def wait(self, StackName: str, WaiterConfig: Any) -> None:  # noqa: N803
        from botocore.exceptions import WaiterError

        if StackName.removeprefix("arn:") in self._account.undeletable:
            raise WaiterError("StackDeleteComplete", "it failed", {})

    def describe_stack_events(self, StackName: str) -> Any:  # noqa: N803
        why = self._account.undeletable[StackName.removeprefix("arn:")]
        failed = {"LogicalResourceId": "Jobs", "ResourceStatus": "DELETE_FAILED", "ResourceStatusReason": why}
        return {"StackEvents": [{"LogicalResourceId": "Jobs", "ResourceStatus": "DELETE_IN_PROGRESS"}, failed]}


class _Pages:
    def __init__(self, client: _Client, operation: str) -> None:
        self._client, self._operation = client, operation

    def paginate(self, **arguments: str) -> Any:
        return getattr(self._client, f"pages_of_{self._operation}")(**arguments)


def use_fakes(monkeypatch: pytest.MonkeyPatch, account: FakeAccount, region: str | None = "eu-west-1") -> None:
    """Give the commands the fake account, and no settings of the host."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID"):
        # Set first, so that monkeypatch puts the value of the host back after a command has changed it.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    if region is not None:
        monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr("onthedot.wiring.aws.client", account.client)
