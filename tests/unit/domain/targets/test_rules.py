"""Which targets can be called: the rules that the API and the performers share."""

import pytest

from onthedot.targets import rules
from onthedot.targets import rules as http_rules
from onthedot.targets.types import BadTarget, GrpcTarget, HttpTarget
from tests.unit.domain.targets.samples import BAD, GOOD


def check(target: HttpTarget | GrpcTarget) -> None:
    if isinstance(target, HttpTarget):
        http_rules.check_target(target)
    else:
        rules.grpc_destination_of(target)


@pytest.mark.parametrize("target", GOOD, ids=ascii)
def test_a_target_that_can_be_called_passes(target: HttpTarget | GrpcTarget) -> None:
    check(target)


@pytest.mark.parametrize(("target", "field", "part"), BAD, ids=ascii)
def test_a_target_that_cannot_be_called_is_refused_by_field_with_advice(
    target: HttpTarget | GrpcTarget, field: str, part: str
) -> None:
    with pytest.raises(BadTarget) as refusal:
        check(target)
    assert str(refusal.value).startswith(f"{field} ")
    assert part in refusal.value.message
    assert "; " in refusal.value.message, "it does not say what to do"


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
    destination = http_rules.destination_of(url)
    assert (destination.scheme, destination.host, destination.port, destination.path) == parts
    assert destination.url == again


def test_a_certificate_is_asked_for_without_the_dot_that_ends_a_full_name() -> None:
    assert http_rules.destination_of("https://a.test./").tls_name == "a.test"


def test_a_url_that_a_redirect_leads_to_may_be_longer_than_one_that_is_stored() -> None:
    url = f"http://a/?signature={'x' * 4000}"
    assert http_rules.destination_of(url).url == url


def test_a_grpc_target_is_taken_apart() -> None:
    destination = rules.grpc_destination_of(GrpcTarget("[0:0::1]:0443", "/p.S/M", tls=False))
    assert destination == rules.GrpcDestination("::1", 443, "p.S", "M", tls=False)
    assert destination.authority == "[::1]:443"


def test_only_get_and_head_have_no_body() -> None:
    assert {method for method in http_rules.METHODS if http_rules.body_of(method, b"x") is None} == {"GET", "HEAD"}
    assert http_rules.body_of("POST", b"") == b""


def test_a_refusal_repeats_no_secret() -> None:
    target = HttpTarget("http://user:hunter2@a.test/", headers={"X": "hunter2\n"})
    for bad in (target, HttpTarget(target.url)):
        with pytest.raises(BadTarget) as refusal:
            check(bad)
        assert "hunter2" not in str(refusal.value)
