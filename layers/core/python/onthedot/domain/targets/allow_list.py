"""Which functions and AWS calls the jobs of a stage may make: the same list refuses, performs and grants."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True, slots=True)
class AllowedCall:
    """One action of a service, by boto3's names (`sqs`, `SendMessage`), on these resources."""

    service: str
    action: str
    iam_action: str = ""
    """Where IAM's name is another one, such as `s3:ListBucket` for `s3`, `ListObjectsV2`."""
    resources: tuple[str, ...] = ("*",)

    @property
    def grant(self) -> str:
        return self.iam_action or f"{self.service}:{self.action}"


@dataclass(frozen=True, slots=True)
class AllowList:
    """`functions`: names or ARNs, `*` and `?` stand for what they usually do."""

    functions: tuple[str, ...] = ()
    calls: tuple[AllowedCall, ...] = ()

    def allows_function(self, function: str) -> bool:
        """A name matches a name; an ARN matches an ARN, or by the name in it."""
        names = {function, function_name(function)} if _is_whole_arn(function) else {function}
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.functions)

    def allows_call(self, service: str, action: str) -> bool:
        return any((call.service, call.action) == (service, action) for call in self.calls)


def function_name(function: str) -> str:
    """The name in an ARN `arn:…:function:name[:version]`, or in `name[:version]`."""
    parts = function.split(":")
    return parts[6] if _is_whole_arn(function) else parts[0]


def _is_whole_arn(function: str) -> bool:
    return function.startswith("arn:") and function.count(":") >= 6


def to_json(allowed: AllowList) -> dict[str, Any]:
    return {
        "functions": list(allowed.functions),
        "calls": [{**asdict(call), "resources": list(call.resources)} for call in allowed.calls],
    }


def from_json(stored: Mapping[str, Any]) -> AllowList:
    """Raises KeyError or TypeError for what is no allow-list."""
    calls: Sequence[Mapping[str, Any]] = stored.get("calls", [])
    return AllowList(
        tuple(stored.get("functions", ())),
        tuple(AllowedCall(**{**call, "resources": tuple(call["resources"])}) for call in calls),
    )
