"""A context value that is taken back must not leave a stack that cannot be updated.

CloudFormation refuses to remove or change an export that another stack imports. A stack that left the app is still
deployed, with its old template. Every other stack has its old template when the exporting stack is updated before it.
"""

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from stage_config import StageConfig
from tests.infra.conftest import FARGATE_POOLS
from tests.infra.kit import STACKS, Assembly, build, new_app

pytestmark = pytest.mark.slow
SHELL, DIRECT = FARGATE_POOLS
PULL = {"name": "gpu", "capabilities": ["python"], "cpu": 4, "memory_mb": 8192}
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/1"
TABLE = "onthedot-prod-jobs-2"
STREAM = f"arn:aws:dynamodb:eu-west-1:123456789012:table/{TABLE}/stream/2026-11-17"
CONTEXTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "a pull pool": {"pools": [PULL]},
    "a Fargate pool": {"pools": [DIRECT]},
    "a Fargate pool with a shell": {"pools": [SHELL]},
    "two Fargate pools": {
        "pools": [SHELL, DIRECT, PULL],
        "lambda_functions": "report-*",
        "aws_calls": ["sns:Publish on *"],
        "vpc_id": "vpc-12345678",
        "vpc_subnets": "subnet-12345678,subnet-87654321",
        "canary": "false",
        "xray": "true",
    },
    "a restored table": {"table_name": TABLE, "table_stream_arn": STREAM},
    "another topic": {"alarm_topic": "arn:aws:sns:eu-west-1:123456789012:pages", "s3_event_buckets": "uploads"},
    "a domain": {"pools": [SHELL], "domain_name": "jobs.example.com", "certificate_arn": CERTIFICATE},
}


def synthesized(directory: Path, context: dict[str, Any]) -> Assembly:
    config = StageConfig.from_context({"stage": "prod", **context})
    app = new_app(directory / "cdk.out")
    build(app, config, directory)
    app.synth()
    return Assembly(config, directory / "cdk.out")


@pytest.fixture(scope="module")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Assembly]:
    return {name: synthesized(tmp_path_factory.mktemp("exports"), context) for name, context in CONTEXTS.items()}


def exports(assembly: Assembly) -> dict[str, Any]:
    outputs = [output for stack in assembly.stacks for output in assembly.template(stack).get("Outputs", {}).values()]
    return {output["Export"]["Name"]: output["Value"] for output in outputs if "Export" in output}


def imports(template: Any) -> Iterator[str]:
    match template:
        case {"Fn::ImportValue": name}:
            yield name
        case dict():
            for value in template.values():
                yield from imports(value)
        case list():
            for value in template:
                yield from imports(value)


def stuck(before: Assembly, after: Assembly) -> set[tuple[str, str]]:
    """The exports that vanish or change, with the stack that imports them in its deployed template."""
    was, now = exports(before), exports(after)
    used = {(stack, name) for stack in before.stacks for name in imports(before.template(stack))}
    return {(stack, name) for stack, name in used if now.get(name) != was[name]}


def test_no_export_vanishes_that_a_deployed_stack_imports(assemblies: dict[str, Assembly]) -> None:
    for before, after in permutations(CONTEXTS, 2):
        assert stuck(assemblies[before], assemblies[after]) == set(), f"from {before} to {after}"


def test_stacks_that_know_the_queues_by_name_are_deployed_after_them(assemblies: dict[str, Assembly]) -> None:
    made = assemblies["two Fargate pools"]
    artifacts = json.loads((made.directory / "manifest.json").read_text())["artifacts"]
    for stack in ("dispatch", "workers", "api", "events", "fargate"):
        assert made.config.name("queues") in artifacts[made.config.name(stack)]["dependencies"]


def test_a_vanished_or_changed_export_is_seen(assemblies: dict[str, Assembly], tmp_path: Path) -> None:
    before = assemblies["plain"]
    after = Assembly(before.config, tmp_path)
    for stack in before.stacks:
        template = before.template(stack)
        for output in template.get("Outputs", {}).values() if stack == "queues" else ():
            output["Value"] = {"Ref": "Another"}
        for name in list(template.get("Outputs", {})) if stack == "data" else ():
            del template["Outputs"][name]
        after.path(stack).write_text(json.dumps(template))
    assert {stack for stack, _ in stuck(before, after)} == {"api", "dispatch", "events", "workers"}
    assert {name.split(":")[0] for _, name in stuck(before, after)} == {"onthedot-prod-data", "onthedot-prod-queues"}


def test_every_part_uses_the_restored_table_and_none_the_old_one(assemblies: dict[str, Assembly]) -> None:
    restored = assemblies["a restored table"]
    for function in restored.properties("AWS::Lambda::Function"):
        assert function["Environment"]["Variables"].get("ONTHEDOT_TABLE", TABLE) == TABLE
    sources = restored.properties("AWS::Lambda::EventSourceMapping")
    assert [one["EventSourceArn"] for one in sources if "StartingPosition" in one] == [STREAM, STREAM]
    others = {stack: json.dumps(restored.template(stack)) for stack in STACKS if stack != "data"}
    assert [stack for stack, text in others.items() if "onthedot-prod-data:ExportsOutputRefJobs" in text] == []


def test_the_old_table_and_what_others_import_of_it_stay(assemblies: dict[str, Assembly]) -> None:
    restored = assemblies["a restored table"]
    assert restored.named("AWS::DynamoDB::Table", "TableName", "jobs")
    assert exports(restored).keys() == exports(assemblies["plain"]).keys()
