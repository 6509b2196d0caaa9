"""Synthesizes the stacks as `cdk synth` would, and reads the templates.

CDK starts a process of Node when it is imported, so only tests that synthesize import it, and not their collection.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stage_config import StageConfig

if TYPE_CHECKING:
    from aws_cdk import App

    from app import Stacks

ROOT = Path(__file__).resolve().parents[2]
STACKS = ("data", "queues", "dispatch", "workers", "api", "events", "watch")
"""Those of every stage."""
Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Assembly:
    """What a synthesis wrote."""

    config: StageConfig
    directory: Path

    @property
    def stacks(self) -> tuple[str, ...]:
        return tuple(sorted(p.name.split(".")[0].removeprefix(self.config.name("")) for p in self._templates()))

    def _templates(self) -> Iterator[Path]:
        return self.directory.glob("*.template.json")

    def path(self, stack: str) -> Path:
        return self.directory / f"{self.config.name(stack)}.template.json"

    def template(self, stack: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.path(stack).read_text())
        return content

    def of_type(self, kind: str, *stacks: str) -> dict[str, Resource]:
        """Resources of a type by logical id, from these stacks or from all."""
        return {
            logical_id: resource
            for stack in stacks or self.stacks
            for logical_id, resource in self.template(stack)["Resources"].items()
            if resource["Type"] == kind
        }

    def properties(self, kind: str, *stacks: str) -> list[dict[str, Any]]:
        return [resource.get("Properties", {}) for resource in self.of_type(kind, *stacks).values()]

    def named(self, kind: str, name_property: str, name: str) -> dict[str, Any]:
        """The one resource of a type with this physical name (without the stage's prefix)."""
        wanted = {name, self.config.name(name)}
        [found] = [p for p in self.properties(kind) if p.get(name_property) in wanted]
        return found

    def variables(self, function: str) -> dict[str, str]:
        """The environment of a function, with references replaced by their names."""
        made = self.named("AWS::Lambda::Function", "FunctionName", function)["Environment"]["Variables"]
        return {name: resolve(value) for name, value in made.items()}

    def findings(self) -> set[tuple[str, str]]:
        """(rule, construct path) of every finding of cdk-nag, warnings included."""
        report = json.loads((self.directory / "validation-report.json").read_text())
        return {
            (violation["ruleName"], construct["constructPath"])
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
            for construct in violation["violatingConstructs"]
        }


def new_app(directory: Path) -> "App":
    """An app with the repository's own `cdk.json`, feature flags included."""
    from aws_cdk import App

    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    return App(outdir=str(directory), context=context)


def empty_layer(directory: Path) -> Path:
    """Make a directory in place of the dependencies layer, whose content does not matter to a template."""
    (packages := directory / "layer" / "python").mkdir(parents=True)
    (packages / "nothing.py").write_text("")
    return packages.parent


def build(app: "App", config: StageConfig, directory: Path) -> "Stacks":
    import app as cdk_app

    return cdk_app.build(app, config, empty_layer(directory))


def synthesize(directory: Path, **context: Any) -> Assembly:
    """All stacks of the stage, checked by cdk-nag."""
    import app as cdk_app

    config = StageConfig.from_context(context)
    app = new_app(directory / "cdk.out")
    cdk_app.synthesize(app, config, build(app, config, directory))
    return Assembly(config, directory / "cdk.out")


def resolve(value: Any) -> str:
    """A template's text with every reference replaced by its name, as a stand-in for the real value."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(resolve(part) for part in parts)
        case {"Fn::GetAtt": [logical_id, attribute]}:
            return f"<{logical_id}.{attribute}>"
        case {"Ref": name} | {"Fn::ImportValue": name}:
            return f"<{name}>"
        case _:
            return str(value)


def short(resource: Any) -> str:
    """`<stack:ExportsOutputFnGetAttJobs0A1B2C3DArn…>/index/due` -> `Jobs/index/due`."""
    text = resolve(resource)
    if queue := re.fullmatch(r"arn:<AWS::Partition>:sqs:[^:]*:[^:]*:onthedot-(?:prod|local)-([a-z-]+)", text):
        return "".join(part.capitalize() for part in queue[1].split("-")) + "Queue"
    if not text.startswith("<"):
        return text
    name, rest = text[1:].split(">", 1)
    logical_id = name.split("FnGetAtt")[-1].split(".")[0]
    found = re.match(r"[A-Z][A-Za-z]*?(?=[0-9A-F]{8}(Arn|StreamArn|$))", logical_id)
    part = "/stream" if "StreamArn" in logical_id else ""
    return (found[0] if found else logical_id) + part + rest


def statements_of(assembly: Assembly, role: str) -> list[dict[str, Any]]:
    """Everything that a role may do, by its logical id."""
    policies = [p for p in assembly.properties("AWS::IAM::Policy") if {"Ref": role} in p["Roles"]]
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def by_action(statements: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Each action with the short names of what it is allowed on."""
    allowed: dict[str, set[str]] = defaultdict(set)
    for statement in statements:
        for action in as_list(statement["Action"]) if statement["Effect"] == "Allow" else ():
            allowed[action] |= {short(resource) for resource in as_list(statement["Resource"])}
    return dict(allowed)


def denials(statements: Iterable[Mapping[str, Any]]) -> list[tuple[set[str], set[str], Any]]:
    """Actions, short names of resources and the condition of each denial."""
    return [
        (
            set(as_list(one["Action"])),
            {short(resource) for resource in as_list(one["Resource"])},
            one.get("Condition"),
        )
        for one in statements
        if one["Effect"] == "Deny"
    ]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
