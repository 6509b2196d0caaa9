"""Targets as the API shows them, without the secrets in them, and what is wrong with a mask that is sent back."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from onthedot.api.core.errors import echo
from onthedot.api.targets.views import TargetView
from onthedot.domain.errors import Problem
from onthedot.domain.targets.types import Target, to_json

HIDDEN: Final = "***"
_IN_HEADERS: Final = ("auth", "cookie", "token", "secret", "key", "password", "credential", "signature")
_IN_INPUT: Final = (
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "signature",
)


def target_view(target: Target) -> TargetView:
    """Secret headers and what looks like a secret in an AWS call's input are masked."""
    shown = to_json(target)
    if "headers" in shown:
        shown["headers"] = _masked(shown["headers"], _is_secret_header)
    if "input" in shown:
        shown["input"] = _masked(shown["input"], _is_secret_input)
    return cast(TargetView, shown)


def masks_in(document: Mapping[str, Any]) -> list[Problem]:
    """A job that was read and is sent back would lose the secrets that were hidden from its reader."""
    target = document.get("target")
    if not isinstance(target, dict):
        return []
    found = [*_masks(target.get("headers"), "target.headers"), *_masks(target.get("input"), "target.input")]
    return [Problem(name, "is the mask of a secret; send the value itself") for name in found]


def _masked(value: Any, is_secret: Callable[[str], bool]) -> Any:
    if isinstance(value, Mapping):
        return {name: HIDDEN if is_secret(name) else _masked(child, is_secret) for name, child in value.items()}
    return [_masked(child, is_secret) for child in value] if isinstance(value, list) else value


def _masks(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _masks(child, f"{path}.{echo(name)}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _masks(child, f"{path}.{index}")
    elif value == HIDDEN:
        yield path


def _is_secret_header(name: str) -> bool:
    return any(word in name.lower() for word in _IN_HEADERS)


def _is_secret_input(name: str) -> bool:
    """Narrower than for headers: many inputs have a harmless `Key`."""
    plain = name.lower().replace("_", "").replace("-", "")
    return any(word in plain for word in _IN_INPUT)
