"""The context values that decide where a stage is deployed, read before `cdk` reads all of them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

QUALIFIER: Final = "@aws-cdk/core:bootstrapQualifier"
DEFAULT_QUALIFIER: Final = "hnb659fds"


def read_context(root: Path, given: Iterable[str]) -> dict[str, Any]:
    """Return the context of the clone's `cdk.json`, and over it the values that were given as `KEY=VALUE`."""
    written = json.loads((root / "cdk.json").read_text()).get("context", {})
    return {**written, **dict(_pair(value) for value in given)}


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def bootstrap_parameter(context: Mapping[str, Any]) -> str:
    """Return the name of the parameter in which CDK's bootstrap stores its version."""
    return f"/cdk-bootstrap/{context.get(QUALIFIER, DEFAULT_QUALIFIER)}/version"
