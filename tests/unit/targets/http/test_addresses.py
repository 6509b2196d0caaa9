"""Which addresses may be called, and which never."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.targets.addresses import Lookup, unwrap, why_denied
from tests.unit.targets.http.peer import a_call, a_caller, a_peer, reply, resolving_to, sending

PUBLIC = ["8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"]
LOCAL = ["127.0.0.1", "127.255.0.9", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.9.9", "::1", "fd12::1"]
METADATA = [
    *("169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"),
    *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254"),
]
NEVER = [
    *("0.0.0.0", "0.1.2.3", "169.254.0.1", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.88.99.1"),
    *("192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255"),
    *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "::2", "::127.0.0.1", "fe80::1", "fec0::1", "ff02::1", "100::1", "64:ff9b:1::1", "5f00::1"),
    *("2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "2001:20::1", "4000::1", "8000::1", "e000::1"),
]


def wrappings(inner: IPv4Address) -> dict[str, IPv6Address]:
    low, inverted = int(inner), int(inner) ^ 0xFFFFFFFF
    return {
        "IPv4-mapped": IPv6Address((0xFFFF << 32) | low),
        "NAT64": IPv6Address((0x64FF9B << 96) | low),
        "6to4": IPv6Address((0x2002 << 112) | (low << 80) | 1),
        "Teredo client": IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | inverted),
        "Teredo server": IPv6Address((0x20010000 << 96) | (low << 64) | 0xF7F7F7F7),
        "ISATAP": IPv6Address((0x2606 << 112) | (0x5EFE << 32) | low),
        "ISATAP, universal": IPv6Address((0x2606 << 112) | (0x02005EFE << 32) | low),
    }


@pytest.mark.parametrize("address", [*PUBLIC, *LOCAL, *METADATA, *NEVER])
def test_public_addresses_may_be_called_local_ones_on_a_local_stage_and_others_never(address: str) -> None:
    elsewhere = why_denied(ip_address(address), allow_private=False)
    locally = why_denied(ip_address(address), allow_private=True)
    assert (elsewhere is None, locally is None) == (address in PUBLIC, address in PUBLIC + LOCAL)
    if address in METADATA:
        assert "metadata" in (locally or "")


@pytest.mark.parametrize(
    "inner", [IPv4Address(a) for a in [*LOCAL, *METADATA, *NEVER, "8.8.4.4"] if ":" not in a], ids=str
)
def test_an_address_is_judged_in_every_wrapping_as_by_itself(inner: IPv4Address) -> None:
    for kind, outer in wrappings(inner).items():
        why = why_denied(outer, allow_private=False)
        assert str(inner) in why if why else str(inner) == "8.8.4.4", kind
        assert str(inner) not in METADATA or "metadata" in (why_denied(outer, allow_private=True) or ""), kind


@settings(deadline=None)
@given(st.ip_addresses())
def test_what_the_standard_library_calls_private_is_never_called_in_production(
    address: IPv4Address | IPv6Address,
) -> None:
    # The standard library classifies the outer address, not the one inside it.
    if address.is_private and unwrap(address) == (address,):
        assert why_denied(address, allow_private=False)


@pytest.mark.parametrize("answer", ["fe80::1%eth0", "not an address", "", "127.1", "010.0.0.1"])
def test_an_answer_that_is_no_plain_address_is_refused(answer: str) -> None:
    caller = a_caller(resolve=resolving_to(answer))
    assert caller.perform(a_call("http://target.test/")).error_class == "refused_address"


def test_a_private_address_among_public_ones_is_not_called() -> None:
    with a_peer(sending(reply())) as peer:
        caller = a_caller(allow_private=False, resolve=resolving_to("8.8.8.8", "127.0.0.1"))
        answer = caller.perform(a_call(f"http://target.test:{peer.port}/"))
    assert (answer.error_class, answer.retryable, peer.connections) == ("refused_address", False, 0)
    assert "127.0.0.1, a loopback address" in (answer.error or "")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0", "[::ffff:127.0.0.1]", "localhost"]
)
def test_no_spelling_of_loopback_is_called_in_production(host: str) -> None:
    with a_peer(sending(reply())) as peer:
        answer = a_caller(allow_private=False).perform(a_call(f"http://{host}:{peer.port}/"))
    assert (answer.error_class, answer.retryable, peer.connections) == ("refused_address", False, 0)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "0xa9fea9fe"])
def test_metadata_is_not_called_even_on_a_local_stage(host: str) -> None:
    answer = a_caller(allow_private=True).perform(a_call(f"http://{host}/latest/meta-data/"))
    assert (answer.ok, answer.retryable) == (False, False)
    assert "metadata" in (answer.error or "")


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if len(asked) == 1 else "169.254.169.254", port))]

    with a_peer(sending(reply())) as peer:
        assert a_caller(resolve=rebinding).perform(a_call(f"http://target.test:{peer.port}/")).ok
    assert (asked, peer.headers["host"]) == (["target.test"], f"target.test:{peer.port}")


def test_the_next_address_is_tried_when_one_refuses_the_connection() -> None:
    with a_peer(sending(reply())) as peer:
        caller = a_caller(resolve=resolving_to("127.0.0.2", "127.0.0.3", "127.0.0.1"))
        assert caller.perform(a_call(f"http://target.test:{peer.port}/")).ok


def failing(*_: object) -> list[tuple[Any, ...]]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize("lookup", [resolving_to(), failing])
def test_a_name_that_does_not_resolve_is_tried_again(lookup: Lookup) -> None:
    answer = a_caller(resolve=lookup).perform(a_call("http://target.test/"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "dns")
