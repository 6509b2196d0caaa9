"""Whether this process can call gRPC targets: the packages are an extra that not every worker installs."""

from importlib.util import find_spec
from typing import Final

MISSING: Final = "this worker lacks the package grpcio: pip install 'onthedot[grpc]'"
_PACKAGES: Final = ("grpc", "grpc_reflection")


def is_available() -> bool:
    """Return whether the packages are installed. They are looked up, not imported: an import takes long."""
    return all(find_spec(package) for package in _PACKAGES)
