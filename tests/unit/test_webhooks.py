"""Receivers check calls in one line."""

import time

import pytest

from onthedot import webhooks
from onthedot.targets.webhooks import SigningKey, signature_headers
from onthedot.webhooks import NotVerified, verify

NOW = 1_772_366_400
# Keys that are the same in each process: the names of the cases below have them.
OLD, NEW, OTHER = (SigningKey(f"whsec_{name * 8}", at) for at, name in enumerate(("oldd", "neww", "othe"), start=1))
BODY = b'{"n":1}'


def signed(*keys: SigningKey, at: float = NOW) -> dict[str, str]:
    return signature_headers(keys, "run_1", round(at * 1000), BODY)


def test_a_call_by_either_key_is_verified() -> None:
    headers = signed(NEW, OLD)
    assert verify(BODY, headers, OLD.secret, now=NOW) == "run_1"
    assert verify(BODY, headers, [OTHER.secret, NEW.secret], now=NOW + 299) == "run_1"
    assert verify(BODY, {name.title(): value for name, value in headers.items()}, NEW.secret, now=NOW - 299) == "run_1"


def test_the_clock_is_asked_for_the_present() -> None:
    assert webhooks.verify(BODY, signed(NEW, at=time.time()), NEW.secret) == "run_1"


@pytest.mark.parametrize(
    ("body", "headers", "key", "now", "why"),
    [
        (b'{"n":2}', signed(NEW), NEW.secret, NOW, "no signature fits"),
        (BODY, signed(NEW), OTHER.secret, NOW, "no signature fits"),
        (BODY, signed(NEW), "whsec_%%%", NOW, "no signature fits"),
        (BODY, signed(NEW), [], NOW, "no signature fits"),
        (BODY, {**signed(NEW), "webhook-id": "run_2"}, NEW.secret, NOW, "no signature fits"),
        (BODY, {**signed(NEW), "webhook-signature": "v2,x é v1,"}, NEW.secret, NOW, "no signature fits"),
        (BODY, signed(NEW), NEW.secret, NOW + 301, "more than 300 s"),
        (BODY, signed(NEW), NEW.secret, NOW - 301, "more than 300 s"),
        (BODY, {**signed(NEW), "webhook-timestamp": "soon"}, NEW.secret, NOW, "is not a time"),
        (BODY, {**signed(NEW), "webhook-timestamp": "²"}, NEW.secret, NOW, "is not a time"),
        (BODY, {**signed(NEW), "webhook-timestamp": "1" * 5000}, NEW.secret, NOW, "is not a time"),
        (BODY, {}, NEW.secret, NOW, "webhook-id is missing"),
    ],
)
def test_anything_else_is_refused(body: bytes, headers: dict[str, str], key: str, now: float, why: str) -> None:
    with pytest.raises(NotVerified, match=why):
        verify(body, headers, key, now=now)
