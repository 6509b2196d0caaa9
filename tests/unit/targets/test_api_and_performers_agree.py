"""The API accepts exactly the targets that performers can send, and both refuse in the same words."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.targets.answers import printable
from onthedot.targets.types import GrpcTarget, HttpTarget, to_json
from tests.builders import a_world
from tests.unit.api.kit import Api
from tests.unit.domain.targets.samples import BAD, GOOD
from tests.unit.targets.grpc.peer import a_caller as a_grpc_caller
from tests.unit.targets.http.peer import a_caller as an_http_caller
from tests.unit.targets.http.peer import resolving_to

Target = HttpTarget | GrpcTarget
READABLE = [case for case in BAD if r"\ud800" not in ascii(case)]
"""Without halves of characters, which the API refuses before it reads any field."""


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


@pytest.mark.parametrize(("target", "field", "part"), READABLE, ids=ascii)
def test_a_target_that_the_api_refuses_is_refused_by_the_performer_in_the_same_words(
    api: Api, target: Target, field: str, part: str
) -> None:
    response = api.submit(target=to_json(target))
    assert response.status == 422, response.text
    (detail,) = response.body["error"]["details"]
    assert part in detail["message"]
    accepted, error = performed(target)
    assert not accepted
    assert error == printable(f"{field} {detail['message']}", 400)
