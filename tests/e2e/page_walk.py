"""Follow the commands of a page as a new user does: a fresh clone, an account of one's own, terminals."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3

from localstack import ministack_process
from localstack.home import ROOT, Home
from tests.served import quiet_port

REGION = "us-east-1"
BASH = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HOST_ONLY = ("AWS_", "ONTHEDOT_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE", "MFLAGS", "COLUMNS", "JSII", "CDK")
"""Variables of the process that runs the tests, which a new user does not have."""
SECONDS = 600


def blocks_of(section: str) -> list[str]:
    """The commands of a section, block by block."""
    return BASH.findall(section)


def free_port(wanted: int) -> int:
    """The wanted port if it is free, otherwise another one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return quiet_port()
        return wanted


def fresh_clone(into: Path) -> Path:
    """The sources as a clone has them, without anything that was installed or built."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, found.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    return into


@contextmanager
def fresh_aws(path: Path) -> Iterator[str]:
    """An empty local AWS with enforced IAM, and the URL of its endpoint."""
    path.mkdir()
    home = Home(path, quiet_port(), enforce_iam=True)
    ministack_process.start(home)
    try:
        yield home.endpoint_url
    finally:
        ministack_process.stop(home, grace_seconds=5)


@dataclass(frozen=True)
class Account:
    """The account behind an endpoint, seen by its owner."""

    endpoint_url: str

    def client(self, service: Any) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def refuses(self, keys: dict[str, str]) -> bool:
        """Whether a user of these keys may not list users: IAM is enforced, and the user is no administrator."""
        iam = boto3.client(
            "iam",
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        )
        try:
            iam.list_users()
        except iam.exceptions.ClientError as error:
            return "AccessDenied" in error.response["Error"]["Code"]
        return False

    def new_administrator(self) -> dict[str, str]:
        """Make a user who may do everything, and return the variables with the user's keys."""
        self.client("iam").create_user(UserName="admin")
        policy = "arn:aws:iam::aws:policy/AdministratorAccess"
        self.client("iam").attach_user_policy(UserName="admin", PolicyArn=policy)
        return self._keys("admin")

    def new_user(self, name: str, policy: str) -> dict[str, str]:
        """Make a user with this policy only, and return the variables with the user's keys."""
        self.client("iam").create_user(UserName=name)
        self.client("iam").put_user_policy(UserName=name, PolicyName="page", PolicyDocument=policy)
        return self._keys(name)

    def _keys(self, name: str) -> dict[str, str]:
        key = self.client("iam").create_access_key(UserName=name)["AccessKey"]
        return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    def resources(self) -> set[str]:
        """Everything that the account has, as `service name`."""
        found = set()
        for service, call, entries, name, options in LISTS:
            for entry in getattr(self.client(service), call)(**options).get(entries, []):
                found.add(f"{service} {entry if isinstance(entry, str) else entry[name]}")
        return found

    def tagged(self) -> set[str]:
        """The ARNs with the tag that all stacks give to their resources."""
        tags = [{"Key": "application", "Values": ["onthedot"]}]
        pages = self.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=tags)
        return {entry["ResourceARN"] for page in pages for entry in page["ResourceTagMappingList"]}


LISTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("cloudformation", "describe_stacks", "Stacks", "StackName", {}),
    ("cloudformation", "list_exports", "Exports", "Name", {}),
    ("dynamodb", "list_tables", "TableNames", "", {}),
    ("s3", "list_buckets", "Buckets", "Name", {}),
    ("sqs", "list_queues", "QueueUrls", "", {}),
    ("sns", "list_topics", "Topics", "TopicArn", {}),
    ("lambda", "list_functions", "Functions", "FunctionName", {}),
    ("lambda", "list_layers", "Layers", "LayerName", {}),
    ("lambda", "list_event_source_mappings", "EventSourceMappings", "UUID", {}),
    ("iam", "list_roles", "Roles", "RoleName", {}),
    ("iam", "list_policies", "Policies", "PolicyName", {"Scope": "Local"}),
    ("logs", "describe_log_groups", "logGroups", "logGroupName", {}),
    ("apigateway", "get_rest_apis", "items", "name", {}),
    ("scheduler", "list_schedules", "Schedules", "Name", {}),
    ("scheduler", "list_schedule_groups", "ScheduleGroups", "Name", {}),
    ("events", "list_event_buses", "EventBuses", "Name", {}),
    ("events", "list_rules", "Rules", "Name", {}),
    ("events", "list_archives", "Archives", "ArchiveName", {}),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName", {}),
    ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName", {}),
    ("ssm", "describe_parameters", "Parameters", "Name", {}),
    ("secretsmanager", "list_secrets", "SecretList", "Name", {}),
    ("ecr", "describe_repositories", "repositories", "repositoryName", {}),
    ("ecs", "list_clusters", "clusterArns", "", {}),
]
"""The calls that list what a stage, or CDK, can make: service, call, list in the answer, name of an entry, options."""


@dataclass
class User:
    """A person in a clone, with one terminal for commands and others for programs that run on."""

    clone: Path
    scratch: Path
    environment: dict[str, str]
    programs: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, block: str) -> str:
        """Run the commands of a block to their end, remember exported variables, and return the output."""
        after = self.scratch / "environment"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{block}\nenv -0 >{after}"],
            cwd=self.clone,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}"
        self.environment = dict(one.split("=", 1) for one in after.read_text().split("\0") if one)
        return done.stdout

    def begin(self, block: str, log: Path) -> None:
        """Start the program of a block in a terminal of its own."""
        with log.open("w") as output:
            program = subprocess.Popen(
                ["bash", "-c", f"exec {block.strip()}"],
                cwd=self.clone,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.programs.append(program)

    def leave(self) -> None:
        """Press Ctrl-C in all terminals."""
        for program in self.programs:
            program.send_signal(signal.SIGINT)
        for program in self.programs:
            try:
                program.wait(timeout=60)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
        self.programs.clear()


def new_environment(endpoint_url: str, keys: dict[str, str]) -> dict[str, str]:
    """The environment of a new user, whose AWS is the one at the endpoint."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(HOST_ONLY)}
    paths = [part for part in outer["PATH"].split(os.pathsep) if not Path(part).is_relative_to(ROOT)]
    return {
        **outer,
        **keys,
        "PATH": os.pathsep.join(paths),
        # The Makefile's own variable, for machines whose `python3` is too old.
        "PYTHON": str(Path(sys._base_executable)),  # type: ignore[attr-defined]
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
