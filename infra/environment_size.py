"""The size of functions' environments, checked at synthesis: Lambda would refuse a larger one in mid-deployment."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

LARGEST: Final = 4096
"""The most bytes of a function's variables. Lambda counts them as one JSON object, with escaped quotes."""
# The longest values that CloudFormation can put in, of those that we use.
_LENGTHS: Final = {"AWS::AccountId": 12, "AWS::Region": 14, "AWS::Partition": 10, "AWS::URLSuffix": 16}
# The name of a bucket has at most 63 characters. The names of the other resources begin with that of the stage.
_LONGEST_REFERENCE: Final = 64
_SHOWN: Final = 3


class EnvironmentTooLarge(ValueError):
    """The variables of a function are larger than Lambda allows."""

    def __init__(self, function: str, sizes: Mapping[str, int], total: int) -> None:
        largest = sorted(sizes, key=lambda name: sizes[name], reverse=True)[:_SHOWN]
        shown = ", ".join(f"{name} {sizes[name]}" for name in largest)
        super().__init__(
            f"the environment variables of {function} take {total} bytes, and Lambda allows {LARGEST}; "
            f"the largest are {shown}. Use fewer or shorter pools, lambda_functions or aws_calls"
        )


def check(templates: Iterable[Path]) -> None:
    """Raise EnvironmentTooLarge for the first function whose variables Lambda would refuse."""
    for template in templates:
        for name, resource in json.loads(template.read_text())["Resources"].items():
            if resource["Type"] == "AWS::Lambda::Function":
                _check(name, resource["Properties"])


def _check(logical_id: str, function: Mapping[str, Any]) -> None:
    variables = function.get("Environment", {}).get("Variables", {})
    written = {name: longest(value) for name, value in variables.items()}
    total = size_of(written)
    if total > LARGEST:
        sizes = {name: size_of(value) for name, value in written.items()}
        raise EnvironmentTooLarge(function.get("FunctionName", logical_id), sizes, total)


def longest(value: Any) -> str:
    """Return a text as long as the value can become when CloudFormation has put in every reference."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(longest(part) for part in parts)
        case {"Ref": name} if name in _LENGTHS:
            return "x" * _LENGTHS[name]
        case dict():
            return "x" * _LONGEST_REFERENCE
        case _:
            return str(value)


def size_of(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
