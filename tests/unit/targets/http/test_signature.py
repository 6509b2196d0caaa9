"""Signatures of HTTP calls by Standard Webhooks, verified as a receiver verifies them."""

import base64
import hashlib
import hmac
import json
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from onthedot.access.signing_keys import keys_of
from onthedot.core.attempt import call_for
from onthedot.core.records import Definition
from onthedot.core.stopping import Stop
from onthedot.targets.rules import METHODS
from onthedot.targets.types import HttpTarget
from onthedot.targets.webhooks import SigningKey, fresh_key, rotated, signature_headers
from tests.builders import a_run, a_world
from tests.unit.targets.http.peer import Peer, a_call, a_caller, a_peer, reply, sending
from tests.unit.targets.kit import NOW

PAYLOAD = json.dumps({"text": "café", "n": [1, 2]}, ensure_ascii=False).encode()


def received(keys: Sequence[SigningKey]) -> Peer:
    """Return a peer that has received a call signed by these keys."""
    signature = signature_headers(keys, "run-7", NOW, PAYLOAD)
    with a_peer(sending(reply())) as peer:
        assert a_caller().perform(a_call(peer.url, payload=PAYLOAD, signature=signature)).ok
    return peer


def verifies(peer: Peer, key: SigningKey) -> bool:
    """Verify as a receiver with one key does: over the bytes that arrived, and nothing else."""
    signed = f"{peer.headers['webhook-id']}.{peer.headers['webhook-timestamp']}.".encode() + peer.bodies[0]
    digest = hmac.digest(base64.b64decode(key.secret.split("_", 1)[1]), signed, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}" in peer.headers["webhook-signature"].split(" ")


def test_the_receiver_verifies_the_call_with_its_key_and_no_other() -> None:
    key = fresh_key(NOW)
    peer = received([key])
    assert verifies(peer, key)
    assert not verifies(peer, fresh_key(NOW))
    assert (peer.headers["webhook-id"], peer.headers["webhook-timestamp"]) == ("run-7", str(NOW // 1000))


def test_while_keys_are_rotated_receivers_of_either_verify_the_call() -> None:
    old = fresh_key(NOW - 60_000)
    keys = rotated([old], NOW - 1, overlap_ms=60_000)
    peer = received(keys)
    assert len(keys) == 2
    assert all(verifies(peer, key) for key in keys)


def test_after_the_overlap_only_the_new_key_verifies_the_call() -> None:
    old = fresh_key(NOW - 60_000)
    new, retired = rotated([old], NOW - 60_000, overlap_ms=60_000)
    peer = received([new, retired])
    assert (verifies(peer, new), verifies(peer, retired)) == (True, False)


def test_a_call_without_keys_has_no_signature() -> None:
    assert not any(name.startswith("webhook-") for name in received([]).headers)


@pytest.mark.parametrize("method", METHODS)
def test_the_bytes_on_the_wire_verify_against_the_signature_with_every_method(method: str) -> None:
    with a_world() as world, a_peer(sending(reply())) as peer:
        definition = Definition(HttpTarget(peer.url, method), payload=json.loads(PAYLOAD))
        run = a_run(world.clock).build()
        call = call_for(world.engine, run, definition, Stop())
        assert a_caller().perform(call).ok
        (key,) = keys_of(world.engine, run.tenant)
    assert verifies(peer, key)
    assert (peer.bodies == [b""]) is (method in {"GET", "HEAD"})


def test_a_tool_of_somebody_else_computes_the_same_signature() -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.fail("this test computes a signature with the openssl command")
    key = fresh_key(NOW)
    peer = received([key])
    signed = f"run-7.{NOW // 1000}.".encode() + PAYLOAD
    secret = base64.b64decode(key.secret.removeprefix("whsec_")).hex()
    command = [openssl, "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{secret}", "-binary"]
    digest = subprocess.run(command, input=signed, check=True, capture_output=True).stdout
    assert peer.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
