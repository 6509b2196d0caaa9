"""The performer of gRPC targets. Nothing outside this folder imports the grpc packages, which are an extra."""

from importlib.util import find_spec
from typing import Final

_PACKAGES: Final = ("grpc", "grpc_reflection")


def is_available() -> bool:
    """Return whether the packages are installed. They are looked up, not imported: an import takes long."""
    return all(find_spec(package) for package in _PACKAGES)
