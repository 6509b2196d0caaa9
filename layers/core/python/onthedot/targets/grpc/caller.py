"""The performer of gRPC targets: unary calls whose types it learns from the server's reflection.

This module imports no grpc package. `calls` does, when the first call is made.
"""

import socket
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from onthedot.core.ports import Answer, Call, Performer
from onthedot.targets.addresses import Address, AddressError, Lookup, UnresolvedError, resolve, why_denied
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.countdown import Countdown, Stopped
from onthedot.targets.grpc import is_available
from onthedot.targets.rules import BadTarget, GrpcDestination, grpc_destination_of
from onthedot.targets.types import GrpcTarget

if TYPE_CHECKING:
    from onthedot.targets.grpc.calls import GrpcCalls


_REFUSALS = {BadTarget: "bad_request", AddressError: "refused_address"}


@dataclass(frozen=True, slots=True)
class Server:
    addresses: tuple[Address, ...]
    """Addresses that passed the deny list, all of one family."""
    destination: GrpcDestination
    secure: bool


class GrpcCaller(Performer):
    """A performer of gRPC targets. It is safe to use from several threads.

    It connects only to addresses that passed the deny list and uses no proxy. The call's timeout covers the resolution
    of the name, the questions about types and the call. With `allow_private` (on a local stage) it also calls loopback
    and private addresses. It reads a reply of up to 4 MiB, and cuts its JSON at the limit of results.
    """

    def __init__(self, *, allow_private: bool, resolve: Lookup = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._lookup = resolve

    def perform(self, call: Call) -> Answer:
        """Make the call within its timeout and judge the reply. Nothing that the peer does makes this raise."""
        assert isinstance(call.definition.target, GrpcTarget)
        if not is_available():
            return refused("this worker lacks the package grpcio: pip install 'onthedot[grpc]'", "unsupported")
        countdown = Countdown(call.timeout_ms, call.stop)
        try:
            server = self._find(grpc_destination_of(call.definition.target), countdown)
            return self._calls.perform(call, server, countdown)
        except Stopped:
            return stopped(call)
        except TimeoutError:
            return timed_out(call, countdown.phase)
        except (BadTarget, AddressError) as error:
            return refused(str(error), _REFUSALS[type(error)])
        except UnresolvedError as error:
            why = f"failed while {countdown.phase}: {printable(str(error), 200)}"
            return Answer(ok=False, error=why, error_class="dns") if call.stop.reason is None else stopped(call)

    def _find(self, destination: GrpcDestination, countdown: Countdown) -> Server:
        found = resolve(destination.host, destination.port, self._lookup, countdown, allow_private=self._allow_private)
        addresses = tuple(address for address in found if address.version == found[0].version)
        # An address that passed is public, or, on a local stage, loopback or private.
        private = all(why_denied(address, allow_private=False) for address in addresses)
        return Server(addresses, destination, secure=not private if destination.tls is None else destination.tls)

    @cached_property
    def _calls(self) -> "GrpcCalls":
        from onthedot.targets.grpc.calls import GrpcCalls  # noqa: PLC0415 - an extra, and slow to import

        return GrpcCalls()
