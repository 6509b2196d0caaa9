"""Whether this process can call gRPC targets: the packages are an extra that not every worker installs."""

from importlib.util import find_spec
from typing import Final

from onthedot.domain.errors import OnthedotError

_PACKAGES: Final = ("grpc", "grpc_reflection")


def is_available() -> bool:
    """Return whether the packages are installed. They are looked up, not imported: an import takes long."""
    return all(find_spec(package) for package in _PACKAGES)


class GrpcMissing(OnthedotError):
    """The packages are not installed. Another attempt on this worker does not help."""


def require() -> None:
    """Raise GrpcMissing, with the command that installs the packages, when they are not installed."""
    if not is_available():
        raise GrpcMissing("this worker lacks the package grpcio: pip install 'onthedot[grpc]'")
