"""The deny list of addresses that a target may not have.

Python's `is_private` and `is_global` are wrong for NAT64, 6to4, IPv4-mapped and carrier-grade NAT addresses, and the
operating system resolves `127.1` and `0x7f000001`. So a name is resolved first, and the addresses that each answer
contains are checked. The performer connects to the checked addresses: a second resolution could give other addresses.
"""

import queue
import threading
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SOCK_STREAM
from typing import Any, Final

from onthedot.core.errors import OnthedotError
from onthedot.core.stopping import Stop
from onthedot.targets.countdown import Countdown

Address = IPv4Address | IPv6Address
Lookup = Callable[..., Iterable[tuple[Any, ...]]]
"""`socket.getaddrinfo`, or a function with its signature."""

_METADATA, _LOOPBACK, _PRIVATE = "instance metadata", "loopback", "private"
_LOCAL: Final = frozenset({_LOOPBACK, _PRIVATE})
"""The kinds of addresses that a performer on a local stage may call."""

_NAT64: Final = IPv6Network("64:ff9b::/96")
_TEREDO: Final = IPv6Network("2001::/32")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})

_DENIED: Final = tuple(
    (ip_network(network), kind)
    for kind, networks in {
        # These come first, because other networks in this table contain them. They belong to AWS (instances, tasks,
        # pods), Azure, Alibaba, Oracle and Google.
        _METADATA: (
            *("169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::/32"),
            *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254"),
        ),
        _LOOPBACK: ("127.0.0.0/8", "::1"),
        _PRIVATE: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
        "unspecified": ("0.0.0.0/8", "::"),
        "link-local": ("169.254.0.0/16", "fe80::/10"),
        "site-local": ("fec0::/10",),
        "carrier-grade NAT": ("100.64.0.0/10",),
        "multicast": ("224.0.0.0/4", "ff00::/8"),
        "documentation": (
            *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
            *("2001:db8::/32", "3fff::/20"),
        ),
        "benchmarking": ("198.18.0.0/15", "2001:2::/48"),
        "local NAT64": ("64:ff9b:1::/48",),
        # These come last: protocol assignments, 6to4 relays, class E and broadcast, and every IPv6 address outside
        # 2000::/3.
        "reserved": (
            *("192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "::/3", "4000::/2", "8000::/1"),
            *map(str, IPv6Network("2001::/23").address_exclude(_TEREDO)),
        ),
    }.items()
    for network in networks
)


class AddressError(OnthedotError):
    """A host with an address that may not be called. Another attempt does not help."""


class UnresolvedError(OSError):
    """A name that cannot be resolved now."""


def resolve(host: str, port: int, lookup: Lookup, countdown: Countdown, *, allow_private: bool) -> tuple[Address, ...]:
    """Return the checked addresses of a host, in the order of the answer.

    Raise AddressError when one of them may not be called, whatever the others are, TimeoutError when there is no
    answer in time, and UnresolvedError when the name cannot be resolved or the call was asked to stop meanwhile.
    """
    countdown.phase = f"resolving {host}"
    found = _look_up(host, port, lookup, countdown.left(), countdown.stop)
    answers = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not answers:
        raise UnresolvedError("the name has no address")
    return tuple(_checked(host, answer, allow_private) for answer in answers)


def why_denied(address: Address, *, allow_private: bool) -> str | None:
    """Return the reason, as text for users, or None when the address may be called."""
    for inner in unwrap(address):
        kind = next((kind for network, kind in _DENIED if inner in network), None)
        if kind and not (allow_private and kind in _LOCAL):
            via = "" if inner == address else f" (it leads to {inner})"
            return f"{address}{via}, a {kind} address that may not be called"
    return None


def unwrap(address: Address) -> tuple[Address, ...]:
    """Return every address that traffic to this one may reach.

    Traffic to an IPv4-mapped or NAT64 address reaches the IPv4 address in it. Traffic to a 6to4, Teredo or ISATAP
    address is routed by the address itself or by the IPv4 addresses in it.
    """
    if isinstance(address, IPv4Address):
        return (address,)
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped or address in _NAT64:
        return (low,)
    if address.sixtofour:
        return address, address.sixtofour
    if address.teredo:
        return address, *address.teredo
    return (address, low) if int(address) >> 32 & 0xFFFFFFFF in _ISATAP else (address,)


def _checked(host: str, answer: str, allow_private: bool) -> Address:
    try:
        address = ip_address(answer)
    except ValueError as error:
        raise AddressError(f"{host} resolves to {answer[:80]!r}, which is not an address") from error
    if why := why_denied(address, allow_private=allow_private):
        raise AddressError(f"{host} resolves to {why}")
    return address


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str, port: int, lookup: Lookup, seconds: float, stop: Stop) -> Iterable[tuple[Any, ...]]:
    """Resolve in a thread, since the system's resolver has no timeout to set. An address needs no thread."""
    outcome: queue.SimpleQueue[Iterable[tuple[Any, ...]] | UnresolvedError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            outcome.put(lookup(host, port, 0, SOCK_STREAM))
        except OSError as error:
            outcome.put(UnresolvedError(error.strerror or str(error)))
        except UnicodeError:
            outcome.put(UnresolvedError("not a host name"))

    if _is_address(host):
        ask()
    else:
        threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        with stop.interrupting(lambda: outcome.put(UnresolvedError("asked to stop"))):
            answer = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, UnresolvedError):
        raise answer
    return answer
