"""Performs unary gRPC calls, knowing nothing of the server's types beforehand: it asks the server for them."""

import re
import socket
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from onthedot.domain.errors import OnthedotError
from onthedot.domain.targets.types import GrpcTarget
from onthedot.ports import Answer, Call, Performer
from onthedot.targets.addresses import Address, AddressError, Lookup, UnresolvedError, resolve, why_denied
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.grpc.available import MISSING, is_available
from onthedot.targets.http.wire import Countdown, Stopped

if TYPE_CHECKING:
    from onthedot.targets.grpc.calls import Calls

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_METHOD: Final = re.compile(rf"/?(?P<service>{_NAME}(\.{_NAME})*)/(?P<method>{_NAME})")
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,254}):(?P<port>[0-9]{1,5})")


class BadTarget(OnthedotError):
    """The target is defined in a way that cannot be called. Trying again does not help."""


@dataclass(frozen=True, slots=True)
class GrpcDestination:
    """What a target says, taken apart."""

    host: str
    port: int
    service: str
    method: str
    tls: bool | None

    @property
    def authority(self) -> str:
        """What the server is told that it is called."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Server:
    """Where a call goes: addresses that passed the deny list, all of one family, and how they are called."""

    addresses: tuple[Address, ...]
    place: GrpcDestination
    secure: bool


class GrpcCaller(Performer):
    """Calls what a `GrpcTarget` names. Safe to use from several threads.

    It connects only to addresses that passed the deny list and uses no proxy. The call's time-out covers the resolution
    of the name, the questions about types and the call. With `allow_private` (a local stage) loopback and private
    addresses pass. A reply is taken up to 4 MiB, and its JSON cut where results are cut.
    """

    def __init__(self, *, allow_private: bool, resolve: Lookup = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._lookup = resolve

    def perform(self, call: Call) -> Answer:
        """Make the call and judge the reply. Its time-out is kept; nothing the peer does raises."""
        assert isinstance(call.definition.target, GrpcTarget)
        if not is_available():
            return refused(MISSING, "unsupported")
        countdown = Countdown(call.timeout_ms, call.stop)
        try:
            server = self._find(place_of(call.definition.target), countdown)
            return self._calls.perform(call, server, countdown)
        except Stopped:
            return stopped(call)
        except TimeoutError:
            return timed_out(call, countdown.stage)
        except (BadTarget, AddressError) as error:
            return refused(str(error), "bad_request" if isinstance(error, BadTarget) else "refused_address")
        except UnresolvedError as error:
            if call.stop.reason is not None:
                return stopped(call)
            why = printable(str(error), 200)
            return Answer(ok=False, error=f"failed while {countdown.stage}: {why}", error_class="dns")

    def _find(self, place: GrpcDestination, countdown: Countdown) -> Server:
        countdown.stage = f"resolving {place.host}"
        found = resolve(
            place.host,
            place.port,
            lookup=self._lookup,
            seconds=countdown.left(),
            allow_private=self._allow_private,
            stop=countdown.stop,
        )
        addresses = tuple(address for address in found if address.version == found[0].version)
        # What passed is public, or on a local stage loopback or private.
        private = all(why_denied(address, allow_private=False) for address in addresses)
        return Server(addresses, place, secure=not private if place.tls is None else place.tls)

    @cached_property
    def _calls(self) -> "Calls":
        from onthedot.targets.grpc.calls import Calls  # noqa: PLC0415 - slow, and few workers need it

        return Calls()


def place_of(target: GrpcTarget) -> GrpcDestination:
    """The target, if it can be called.

    :raises BadTarget: with a message that says what to change
    """
    address, method = _ADDRESS.fullmatch(target.address), _METHOD.fullmatch(target.method)
    if not address or not 0 < int(address["port"]) < 65536:
        raise BadTarget("the address must be host:port, with an IPv6 address in brackets")
    if not method:
        raise BadTarget("the method must be package.Service/Method")
    host = address["host"]
    if host.startswith("["):
        host = _ipv6(host[1:-1])
    return GrpcDestination(host, int(address["port"]), method["service"], method["method"], target.tls)


def _ipv6(host: str) -> str:
    try:
        return str(IPv6Address(host))
    except ValueError:
        raise BadTarget(f"{host!r} is not an IPv6 address") from None
