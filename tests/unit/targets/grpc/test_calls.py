"""Calls of gRPC targets: the requests they receive, and the answers that their replies mean."""

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from onthedot.core.clock import SystemClock
from onthedot.core.ports import Answer
from onthedot.targets import grpc as available
from onthedot.worker.target_factories import TargetOptions, factories
from tests.unit.targets.grpc.peer import (
    V1,
    V1ALPHA,
    a_call,
    a_caller,
    a_peer,
    aborting,
    called,
    field,
    thanks,
    types,
)
from tests.unit.targets.http.peer import resolving_to
from tests.unit.targets.http.test_tls import certificate

__all__ = ["certificate"]


def test_the_payload_becomes_the_request_and_the_reply_the_result() -> None:
    payload = b'{"orderId": "o-1", "count": 3, "wantedAt": "2026-01-01T00:00:00Z"}'
    with a_peer() as peer:
        answer = called(peer, payload)
    assert answer == Answer(ok=True, result='{"orderId": "o-1", "note": "thanks"}')
    [order] = peer.seen
    assert (order.order_id, order.count, order.wanted_at.seconds) == ("o-1", 3, 1_767_225_600)


@pytest.mark.parametrize("payload", [b"", b"null", b"{}", b" {} "])
def test_no_payload_is_an_empty_request(payload: bytes) -> None:
    with a_peer() as peer:
        assert called(peer, payload).ok
    assert peer.seen[0].order_id == ""


def test_the_server_receives_the_metadata_of_the_contract() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with a_peer() as peer:
        assert a_caller().perform(replace(a_call(peer.address, method="/shop.Orders/Place"), traceparent=trace)).ok
    ours = {
        "traceparent": trace,
        "idempotency-key": "run-7",
        "x-onthedot-job": "job-3",
        "x-onthedot-run": "run-7",
        "x-onthedot-attempt": "2",
        "x-onthedot-fire-time": "2026-01-01T00:00:00.123Z",
    }
    assert ours.items() <= peer.metadata.items()


@pytest.mark.parametrize("version", [V1, V1ALPHA])
def test_either_version_of_reflection_will_do(version: str) -> None:
    with a_peer(reflections=[version]) as peer:
        assert called(peer).ok


def test_without_reflection_the_message_says_so_and_the_run_ends() -> None:
    with a_peer(reflections=[]) as peer:
        answer = called(peer)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "no_reflection")


@pytest.mark.parametrize(
    ("name", "retryable"),
    [
        *((name, False) for name in ("INVALID_ARGUMENT", "PERMISSION_DENIED", "UNIMPLEMENTED")),
        *((name, True) for name in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "DEADLINE_EXCEEDED")),
    ],
)
def test_a_status_about_the_request_is_final_and_one_about_the_moment_is_not(name: str, retryable: bool) -> None:
    with a_peer(aborting(grpc.StatusCode[name], "out of\nstock")) as peer:
        answer = called(peer)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, retryable, f"grpc_{name}")
    assert "out of stock" in (answer.error or "")


@pytest.mark.parametrize(
    "payload",
    [b"{", b"\xff", b"5", b"[]", b'{"nope": 1}', b'{"count": "many"}', b"[" * 100_000, b'{"a":' * 100_000],
)
def test_a_payload_that_is_no_request_is_refused_before_anything_is_sent(payload: bytes) -> None:
    with a_peer() as peer:
        answer = called(peer, payload)
    assert (answer.ok, answer.retryable, answer.error_class, peer.seen) == (False, False, "bad_request", [])


@pytest.mark.parametrize(
    ("method", "error_class"),
    [
        ("shop.Orders/Nope", "unknown_method"),
        ("shop.Nope/Place", "unknown_method"),
        ("shop.Order/Place", "unknown_method"),
        ("shop.Orders/Watch", "streaming"),
    ],
)
def test_a_method_that_is_missing_or_streaming_is_refused(method: str, error_class: str) -> None:
    with a_peer() as peer:
        answer = called(peer, method=method)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, error_class)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
def test_addresses_on_the_deny_list_are_refused(host: str) -> None:
    answer = a_caller(allow_private=False).perform(a_call(f"{host}:443"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "refused_address")


def test_a_name_is_called_at_the_address_that_was_checked_and_told_its_name() -> None:
    seen: list[str] = []

    def serve(order: Any, context: grpc.ServicerContext) -> bytes:
        seen.append(context._rpc_event.call_details.host.decode())  # type: ignore[attr-defined]
        return thanks(order, context)

    with a_peer(serve) as peer:
        caller = a_caller(resolve=resolving_to("127.0.0.1"))
        assert caller.perform(a_call(f"orders.test:{peer.port}")).ok
    assert seen == [f"orders.test:{peer.port}"]


def test_the_next_address_is_tried_when_one_refuses() -> None:
    with a_peer() as peer:
        caller = a_caller(resolve=resolving_to("127.0.0.2", "127.0.0.1"))
        assert caller.perform(a_call(f"orders.test:{peer.port}")).ok


def test_an_ipv6_address_is_called() -> None:
    with a_peer(host="[::1]") as peer:
        assert a_caller().perform(a_call(f"[::1]:{peer.port}")).ok


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with a_peer() as peer:
        assert called(peer).ok


def test_a_name_that_does_not_resolve_is_tried_again() -> None:
    def nowhere(*_: object) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    answer = a_caller(resolve=nowhere).perform(a_call("orders.test:443"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "dns")


def with_tls(certificate: tuple[Path, Path], host: str, tls: bool | None) -> Answer:
    pair = (certificate[1].read_bytes(), certificate[0].read_bytes())
    with a_peer(certificate=pair) as peer:
        return a_caller(resolve=resolving_to("127.0.0.1")).perform(a_call(f"{host}:{peer.port}", tls=tls))


def test_only_a_trusted_certificate_of_the_host_name_is_accepted(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert with_tls(certificate, "target.test", tls=True).error_class == "grpc_UNAVAILABLE"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    for host in ("target.test", "TARGET.test", "target.test."):
        assert with_tls(certificate, host, tls=True).ok
    answer = with_tls(certificate, "other.test", tls=True)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "grpc_UNAVAILABLE")


def test_a_private_address_is_called_without_tls_unless_asked_for(certificate: tuple[Path, Path]) -> None:
    with a_peer() as peer:
        assert called(peer, tls=None).ok
        assert called(peer, tls=False).ok
        assert not called(peer, tls=True).ok


def test_types_are_asked_for_once_and_again_when_a_method_or_field_is_new() -> None:
    with a_peer(pool=types(methods=["Place"])) as peer:
        caller = a_caller()
        assert caller.perform(a_call(peer.address)).ok
        asked = peer.reflected
        assert caller.perform(a_call(peer.address)).ok
        assert peer.reflected == asked
        peer.pool = types(["Place"], field(9, "colour", FieldDescriptorProto.TYPE_STRING))
        assert caller.perform(a_call(peer.address, b'{"colour": "red"}')).ok
        assert peer.reflected > asked
        assert peer.seen[-1].colour == "red"
        peer.pool = types(["Place", "Cancel"])
        # The server does not serve the method, but its reflection names it.
        answer = caller.perform(a_call(peer.address, method="shop.Orders/Cancel"))
    assert answer.error_class == "grpc_UNIMPLEMENTED"


def test_types_that_turned_out_old_are_forgotten() -> None:
    with a_peer(aborting(grpc.StatusCode.UNIMPLEMENTED)) as peer:
        caller = a_caller()
        caller.perform(a_call(peer.address))
        asked = peer.reflected
        caller.perform(a_call(peer.address))
        assert peer.reflected == 2 * asked


IMPORTS = """
import sys
from onthedot.core.clock import SystemClock
from onthedot.targets.grpc.caller import GrpcCaller
from onthedot.worker.target_factories import TargetOptions, factories
assert "grpc" in factories(TargetOptions(), SystemClock())
GrpcCaller(allow_private=False)
assert not {"grpc", "grpc_reflection", "google.protobuf"} & sys.modules.keys()
"""


@pytest.fixture
def no_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "_PACKAGES", ("grpc", "a_package_that_is_not_installed"))


@pytest.mark.usefixtures("no_grpc")
def test_a_worker_without_the_packages_offers_the_other_targets_only() -> None:
    assert factories(TargetOptions(), SystemClock()).keys() == {"http"}


@pytest.mark.usefixtures("no_grpc")
def test_a_caller_without_the_packages_says_what_to_install() -> None:
    answer = a_caller().perform(a_call("127.0.0.1:1"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "unsupported")
    assert "onthedot[grpc]" in (answer.error or "")


def test_nothing_of_grpc_is_imported_before_the_first_call() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
