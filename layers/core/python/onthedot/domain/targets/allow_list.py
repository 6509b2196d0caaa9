"""The allow-list of a stage: the functions and AWS calls that its jobs may make.

The API refuses jobs by it, workers check it before each call, and CDK grants permissions from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True, slots=True)
class AllowedCall:
    """One allowed action of an AWS service. IAM knows on which resources."""

    service: str
    """boto3's name of the service, such as `sqs`."""
    action: str
    """The name of the API call, such as `SendMessage`."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """The functions and AWS calls that jobs may name."""

    functions: tuple[str, ...] = ()
    """Names or ARNs of Lambda functions. `*` matches any characters, `?` matches one."""
    calls: tuple[AllowedCall, ...] = ()

    def allows_function(self, function: str) -> bool:
        """Return whether jobs may call the function. A name matches by name, an ARN as a whole or by the name in it."""
        names = {function, function_name(function)} if _is_whole_arn(function) else {function}
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.functions)

    def allows_call(self, service: str, action: str) -> bool:
        """Return whether jobs may make the call."""
        return any((call.service, call.action) == (service, action) for call in self.calls)


def function_name(function: str) -> str:
    """Return the name in an ARN `arn:…:function:name[:version]`, or in `name[:version]`."""
    parts = function.split(":")
    return parts[6] if _is_whole_arn(function) else parts[0]


def _is_whole_arn(function: str) -> bool:
    return function.startswith("arn:") and function.count(":") >= 6


def to_json(allowed: AllowList) -> dict[str, Any]:
    """Return the allow-list as JSON values, for the settings of the functions."""
    return {
        "functions": list(allowed.functions),
        "calls": [f"{call.service}:{call.action}" for call in allowed.calls],
    }


def from_json(stored: Mapping[str, Any]) -> AllowList:
    """Return the allow-list that `to_json` wrote. Raise ValueError or TypeError for anything else."""
    calls = [call.split(":") for call in stored.get("calls", ())]
    return AllowList(
        tuple(stored.get("functions", ())), tuple(AllowedCall(service, action) for service, action in calls)
    )
