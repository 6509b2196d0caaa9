"""HTTPS targets: the certificate must be trusted and have the name in the URL."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from tests.unit.targets.http.peer import (
    Peer,
    Script,
    a_call,
    a_caller,
    a_peer,
    leading_to,
    reply,
    resolving_to,
    sending,
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a self-signed certificate of target.test, and its key."""
    openssl = shutil.which("openssl")
    assert openssl, "these tests make a certificate with the openssl command"
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=target.test", "-addext", "subjectAltName=DNS:target.test"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    subprocess.run(
        [openssl, "req", "-x509", *key, *names, "-out", "cert.pem"], cwd=folder, check=True, capture_output=True
    )
    return folder / "cert.pem", folder / "key.pem"


@contextlib.contextmanager
def a_secure_peer(certificate: tuple[Path, Path], names: list[str | None]) -> Iterator[Peer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with a_peer(sending(reply(200, b"safe")), tls=context) as peer:
        yield peer


def trusting(certificate: tuple[Path, Path], script: Script, stop: Stop | None = None) -> Answer:
    """Return the answer of a call to a trusted peer with this script."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with pytest.MonkeyPatch.context() as patch, a_peer(script, tls=context) as peer:
        patch.setenv("SSL_CERT_FILE", str(certificate[0]))
        caller = a_caller(resolve=resolving_to("127.0.0.1"))
        return caller.perform(a_call(f"https://target.test:{peer.port}/", timeout_ms=60_000, stop=stop))


def called_securely(certificate: tuple[Path, Path], host: str) -> tuple[Answer, Peer, list[str | None]]:
    names: list[str | None] = []
    with a_secure_peer(certificate, names) as peer:
        answer = a_caller(resolve=resolving_to("127.0.0.1")).perform(a_call(f"https://{host}:{peer.port}/"))
    return answer, peer, names


def test_an_untrusted_certificate_ends_the_call_before_anything_is_sent(certificate: tuple[Path, Path]) -> None:
    answer, peer, _ = called_securely(certificate, "target.test")
    assert (answer.error_class, answer.retryable, peer.connections, peer.heads) == ("tls", True, 1, [])


@pytest.mark.parametrize("host", ["target.test", "TARGET.test", "target.test."])
def test_a_trusted_certificate_of_the_host_name_is_accepted(
    certificate: tuple[Path, Path], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    answer, peer, names = called_securely(certificate, host)
    assert (answer, names) == (Answer(ok=True, result="safe"), ["target.test"])
    assert peer.headers["host"] == f"{host.lower()}:{peer.port}"


def test_a_trusted_certificate_of_another_name_is_not_accepted(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    answer, peer, names = called_securely(certificate, "other.test")
    assert (answer.error_class, names, peer.heads) == ("tls", ["other.test"], [])


def test_a_peer_that_speaks_no_tls_is_tried_again() -> None:
    with a_peer(sending(b"HTTP/1.1 400 Plain\r\n\r\n"), reads=False) as peer:
        answer = a_caller().perform(a_call(f"https://127.0.0.1:{peer.port}/"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "tls")


def test_a_redirect_from_https_to_plain_http_is_not_followed(certificate: tuple[Path, Path]) -> None:
    with a_peer(sending(reply())) as plain:
        answer = trusting(certificate, leading_to(f"http://target.test:{plain.port}/"))
    assert (answer.error_class, answer.retryable, plain.connections) == ("redirect", False, 0)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n\r\nhalf"])
def test_a_secure_connection_that_waits_ends_when_asked(certificate: tuple[Path, Path], start: bytes) -> None:
    stop = Stop()

    def ask(connection: socket.socket, peer: Peer) -> None:
        connection.sendall(start)
        stop.ask("cancelled")
        peer.over.wait()

    began = time.monotonic()
    answer = trusting(certificate, ask, stop)
    assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
    assert time.monotonic() - began < 30
