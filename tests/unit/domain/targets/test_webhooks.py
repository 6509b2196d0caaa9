"""Standard-Webhooks signatures: the reference vector, and rotation without a gap."""

from onthedot.targets.webhooks import SigningKey, fresh_key, rotated, signature_headers

# The reference vector of the Standard Webhooks specification.
VECTOR = SigningKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0)
ID, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330_999, b'{"test": 2432232314}'
SIGNED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
HOUR = 3_600_000


def test_the_reference_vector_is_signed_as_the_specification_says() -> None:
    assert signature_headers([VECTOR], ID, AT, BODY) == {
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNED,
    }


def test_a_rotated_key_signs_beside_its_successor_until_the_overlap_ends() -> None:
    new, old = rotated([VECTOR], AT, 24 * HOUR)
    assert (new.retires_at, old.secret, old.retires_at) == (None, VECTOR.secret, AT + 24 * HOUR)
    both = signature_headers([new, old], ID, AT, BODY)["webhook-signature"].split(" ")
    assert len(both) == 2
    assert both[1] == SIGNED
    later = signature_headers([new, old], ID, AT + 24 * HOUR, BODY)["webhook-signature"]
    assert len(later.split(" ")) == 1


def test_a_key_that_retires_sooner_is_not_kept_longer_by_the_next_rotation() -> None:
    once = rotated([VECTOR], AT, HOUR)
    twice = rotated(once, AT + 1000, 24 * HOUR)
    assert [key.retires_at for key in twice] == [None, AT + 1000 + 24 * HOUR, AT + HOUR]


def test_retired_keys_are_forgotten_and_no_overlap_retires_at_once() -> None:
    once = rotated([VECTOR], AT, HOUR)
    assert len(rotated(once, AT + 2 * HOUR, HOUR)) == 2
    assert len(rotated([VECTOR], AT, 0)) == 1


def test_no_two_keys_are_alike_and_each_has_32_bytes() -> None:
    import base64

    keys = {fresh_key(0).secret for _ in range(50)}
    assert len(keys) == 50
    assert all(len(base64.b64decode(key.removeprefix("whsec_"))) == 32 for key in keys)


def test_without_a_key_nothing_is_claimed() -> None:
    assert signature_headers([], ID, AT, BODY) == {}
