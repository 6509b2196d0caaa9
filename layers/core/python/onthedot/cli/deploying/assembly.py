"""The output of `cdk synth`: what it asks of an account. Reading it needs no knowledge of the stacks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STACK = "aws:cloudformation:stack"


@dataclass(frozen=True, slots=True)
class Demands:
    """The things that an account must have before these stacks can be deployed."""

    stacks: tuple[str, ...]
    concurrency: int
    """Most calls of functions at a time that the queues make."""
    fargate_cpus: float
    """CPUs of all Fargate tasks together, when every pool is at its largest."""
    docker: bool
    """Whether an image must be built."""


def demands_of(directory: Path) -> Demands:
    """Read the assembly. Raise OSError, KeyError or ValueError when it is no assembly with stacks."""
    artifacts = json.loads((directory / "manifest.json").read_text())["artifacts"]
    stacks = {name: one for name, one in artifacts.items() if one["type"] == STACK}
    templates = [json.loads((directory / one["properties"]["templateFile"]).read_text()) for one in stacks.values()]
    return Demands(
        stacks=tuple(stacks),
        concurrency=sum(_concurrency(template) for template in templates),
        fargate_cpus=sum(_fargate_cpus(template) for template in templates),
        docker=any(json.loads(path.read_text()).get("dockerImages") for path in directory.glob("*.assets.json")),
    )


def _of_type(template: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    for resource in template.get("Resources", {}).values():
        if resource["Type"] == kind:
            yield resource.get("Properties", {})


def _concurrency(template: dict[str, Any]) -> int:
    """Return the calls that queues make at a time. A stream, which has no maximum, makes one now and then."""
    sources = _of_type(template, "AWS::Lambda::EventSourceMapping")
    return sum(int(one.get("ScalingConfig", {}).get("MaximumConcurrency", 0)) for one in sources)


def _fargate_cpus(template: dict[str, Any]) -> float:
    """Return the CPUs of as many tasks of each service as auto scaling may start."""
    resources = template.get("Resources", {})
    most = {
        json.dumps(one["ResourceId"]): int(one["MaxCapacity"])
        for one in _of_type(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    }
    cpus = 0.0
    for name, resource in resources.items():
        if resource["Type"] == "AWS::ECS::Service":
            task = resources[resource["Properties"]["TaskDefinition"]["Ref"]]["Properties"]
            tasks = sum(count for target, count in most.items() if f'"{name}"' in target)
            cpus += tasks * int(task["Cpu"]) / 1024
    return cpus
