"""The rules of targets: the API and the performers share them, and refuse in the same words."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.access.signing_keys import keys_of
from onthedot.core.attempt import call_for
from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.core.stopping import Stop
from onthedot.targets import rules
from onthedot.targets.answers import printable
from onthedot.targets.rules import AllowedCall, AllowList, BadTarget, from_json
from onthedot.targets.types import GrpcTarget, HttpTarget, to_json
from onthedot.targets.webhooks import SigningKey, fresh_key, is_signed_by, rotated, signature_headers
from tests.builders import a_run, a_world
from tests.unit.api.kit import Api
from tests.unit.targets.grpc.peer import a_caller as a_grpc_caller
from tests.unit.targets.http.peer import a_caller as an_http_caller
from tests.unit.targets.http.peer import a_peer, reply, resolving_to, sending
from tests.unit.targets.samples import BAD, GOOD

Target = HttpTarget | GrpcTarget


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


def performed(target: Target) -> tuple[bool, str]:
    """Return whether a performer accepts the target, and its words. The resolver of the test knows no host."""
    call = Call("r", "j", 1, 0, Definition(target), b"null", 1000)
    caller: Any = an_http_caller if isinstance(target, HttpTarget) else a_grpc_caller
    answer = caller(resolve=resolving_to()).perform(call)
    assert not answer.ok
    assert answer.error_class in {"dns", "bad_request"}
    assert answer.retryable is (answer.error_class == "dns")
    return answer.error_class == "dns", answer.error or ""


@pytest.mark.parametrize("target", GOOD, ids=ascii)
def test_a_target_that_the_api_accepts_is_sent_by_the_performer(api: Api, target: Target) -> None:
    response = api.submit(target=to_json(target))
    assert response.status == 202, response.text
    assert performed(target)[0]


@pytest.mark.parametrize(("target", "field", "part"), BAD, ids=ascii)
def test_a_target_that_cannot_be_called_is_refused_by_both_in_the_same_words(
    api: Api, target: Target, field: str, part: str
) -> None:
    accepted, error = performed(target)
    assert not accepted
    assert part in error
    assert "; " in error, "it does not say what to do"
    if r"\ud800" not in ascii(target):  # the API refuses halves of characters before it reads any field
        response = api.submit(target=to_json(target))
        assert response.status == 422, response.text
        (detail,) = response.body["error"]["details"]
        assert error == printable(f"{field} {detail['message']}", 400)


@pytest.mark.parametrize(
    ("url", "parts", "again"),
    [
        ("HTTP://A.Test", ("http", "a.test", 80, "/"), "http://a.test/"),
        ("https://a.:0443/b?c#d", ("https", "a.", 443, "/b?c"), "https://a./b?c"),
        ("http://[2A00::1]:8/?", ("http", "2a00::1", 8, "/"), "http://[2a00::1]:8/"),
        ("https://a:80?x=%2F", ("https", "a", 80, "/?x=%2F"), "https://a:80/?x=%2F"),
    ],
)
def test_a_url_is_taken_apart(url: str, parts: tuple[str, str, int, str], again: str) -> None:
    destination = rules.destination_of(url)
    assert (destination.scheme, destination.host, destination.port, destination.path) == parts
    assert destination.url == again


def test_a_grpc_target_is_taken_apart() -> None:
    destination = rules.grpc_destination_of(GrpcTarget("[0:0::1]:0443", "/p.S/M", tls=False))
    assert destination == rules.GrpcDestination("::1", 443, "p.S", "M", tls=False)
    assert destination.authority == "[::1]:443"


def test_a_refusal_repeats_no_secret() -> None:
    target = HttpTarget("http://user:hunter2@a.test/", headers={"X": "hunter2\n"})
    for bad in (target, HttpTarget(target.url)):
        with pytest.raises(BadTarget) as refusal:
            rules.check_target(bad)
        assert "hunter2" not in str(refusal.value)


ARN = "arn:aws:lambda:eu-central-1:123456789012:function:reports"
ALLOWED = AllowList(
    ("reports", "mail-*", "arn:aws:lambda:eu-central-1:210987654321:function:shared"),
    (AllowedCall("sqs", "SendMessage"), AllowedCall("s3", "ListObjectsV2")),
)


@pytest.mark.parametrize("function", ["reports", "mail-daily", ARN, f"{ARN}:live"])
def test_a_listed_function_is_allowed_by_name_or_arn(function: str) -> None:
    assert ALLOWED.allows_function(function)


@pytest.mark.parametrize(
    "function",
    [
        "reports2",
        "x-reports",
        "mail",
        "shared",
        "arn:aws:lambda:eu-central-1:123456789012:function:other",
        "arn:reports",
        "REPORTS",
    ],
)
def test_any_other_function_is_not(function: str) -> None:
    assert not ALLOWED.allows_function(function)


def test_calls_are_allowed_one_by_one_and_none_by_default() -> None:
    assert ALLOWED.allows_call("sqs", "SendMessage")
    assert not ALLOWED.allows_call("sqs", "DeleteQueue")
    assert not ALLOWED.allows_call("sns", "SendMessage")
    assert not AllowList().allows_function("anything")
    assert not AllowList().allows_call("sqs", "SendMessage")


def test_the_list_survives_the_environment() -> None:
    assert from_json(rules.to_json(ALLOWED)) == ALLOWED
    assert from_json({}) == AllowList()


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
    one, other = fresh_key(0).secret, fresh_key(0).secret
    assert one != other
    assert len(base64.b64decode(one.removeprefix("whsec_"))) == 32


@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
def test_the_bytes_on_the_wire_verify_against_the_signature(method: str) -> None:
    with a_world() as world, a_peer(sending(reply())) as peer:
        definition = Definition(HttpTarget(peer.url, method), payload={"text": "café"})
        run = a_run(world.clock).build()
        assert an_http_caller().perform(call_for(world.engine, run, definition, Stop())).ok
        (key,) = keys_of(world.engine, run.tenant)
    message_id, seconds, signatures = (peer.headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    (body,) = peer.bodies
    assert bool(body) is (method == "POST")
    assert is_signed_by(key.secret, message_id, seconds, body, signatures)
    assert not is_signed_by(fresh_key(0).secret, message_id, seconds, body, signatures)
