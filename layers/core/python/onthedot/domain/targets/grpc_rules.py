"""The rules for the address and the method of a gRPC target. The API and the performer apply the same functions."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final

from onthedot.domain.targets.bad_target import BadTarget, check_length, naming
from onthedot.domain.targets.host_rules import is_host, port_number, split_authority
from onthedot.domain.targets.types import GrpcTarget

MAX_ADDRESS: Final = 255
MAX_METHOD: Final = 255
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_METHOD: Final = re.compile(rf"(?P<service>{_NAME}(\.{_NAME})*)/(?P<method>{_NAME})")


@dataclass(frozen=True, slots=True)
class GrpcDestination:
    """The parts of a gRPC target that can be called."""

    host: str
    """An IPv6 address has no brackets."""
    port: int
    service: str
    method: str
    tls: bool | None

    @property
    def authority(self) -> str:
        """Host and port as the request's `:authority` has them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def destination_of(target: GrpcTarget) -> GrpcDestination:
    """Apply every rule to a target and return its parts.

    Raise BadTarget with the field's name as the API shows it.
    """
    with naming("target.address"):
        check_address(target.address)
    with naming("target.method"):
        service, _, method = check_method(target.method).partition("/")
    host, port = split_authority(target.address)
    if host.startswith("["):
        host = str(IPv6Address(host[1:-1]))
    return GrpcDestination(host, int(port), service, method, target.tls)


def check_address(address: str) -> str:
    """Return the address. Raise BadTarget when it is not `host:port`."""
    check_length(address, MAX_ADDRESS)
    host, port = split_authority(address)
    if not is_host(host) or port_number(port) is None:
        raise BadTarget("is not host:port; give a name or an address and a port, such as orders.example.com:443")
    return address


def check_method(method: str) -> str:
    """Return the method without a leading slash. Raise BadTarget when it is not `package.Service/Method`."""
    check_length(method, MAX_METHOD)
    name = method.removeprefix("/")
    if not _METHOD.fullmatch(name):
        raise BadTarget("is not package.Service/Method; give it as the service's .proto names it")
    return name
