"""The keys that sign a tenant's calls: shown to some roles, rotated with an overlap, one tenant's alone."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from onthedot.access import signing_store
from tests.builders import World
from tests.unit.api.kit import Api, a_worker, fields_of


def keys(api: Api) -> list[dict[str, Any]]:
    response = api.get("/v1/signing-keys")
    assert response.status == 200
    return list(response.body["keys"])


def rotate(api: Api, **fields: Any) -> Any:
    return api.send("POST", "/v1/signing-keys/rotate", **fields)


def test_the_first_look_makes_a_key_and_the_next_shows_the_same(api: Api) -> None:
    (key,) = keys(api)
    assert key["secret"].startswith("whsec_")
    assert (key["created_at"], key["retires_at"]) == ("2026-03-01T12:00:00.000Z", None)
    assert keys(api) == [key]


def test_a_rotated_key_signs_on_for_the_overlap(api: Api, world: World) -> None:
    (before,) = keys(api)
    world.clock.advance(5)
    new, old = rotate(api).body["keys"]
    assert (new["retires_at"], old["retires_at"]) == (None, "2026-03-02T12:00:05.000Z")
    assert old["secret"] == before["secret"]
    assert new["secret"] != before["secret"]
    assert keys(api) == [new, old]


def test_the_overlap_is_longer_than_workers_remember_keys(api: Api) -> None:
    assert rotate(api, overlap_seconds=120).status == 200
    assert signing_store.SIGNING_MS < 120_000


def test_a_rotation_needs_no_body(api: Api) -> None:
    assert api.call("POST", "/v1/signing-keys/rotate").status == 200


@pytest.mark.parametrize("seconds", [119, 2_592_001, 150.5, None])
def test_a_bad_overlap_is_refused_by_name(api: Api, seconds: float | None) -> None:
    response = rotate(api, overlap_seconds=seconds)
    assert (response.status, fields_of(response)) == (422, {"overlap_seconds"})
    assert len(keys(api)) == 1


def test_each_tenant_has_its_own(api: Api) -> None:
    assert keys(api) != keys(api.called_by("other"))


def test_a_leased_call_is_signed_so_that_its_receiver_can_check_it(api: Api) -> None:
    keys(api)
    rotate(api)
    api.job(payload={"text": "ü", "n": [1.5, None]}, requirements={"capabilities": ["shell"]})
    run = a_worker(api).take()
    body = json.dumps(run["payload"], separators=(",", ":"), ensure_ascii=False).encode()
    signed = b".".join([run["signature"]["webhook-id"].encode(), run["signature"]["webhook-timestamp"].encode(), body])
    expected = [
        "v1," + base64.b64encode(hmac.digest(_raw(key["secret"]), signed, hashlib.sha256)).decode() for key in keys(api)
    ]
    assert run["signature"]["webhook-signature"].split(" ") == expected


def _raw(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"))
