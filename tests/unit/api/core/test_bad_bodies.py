"""A body that is not a job's JSON at all, or too much of it, answers 4xx and says where."""

from collections.abc import Iterator

import pytest

from onthedot.jobs.requests import MAX_BODY, MAX_PAYLOAD
from tests.builders import a_world
from tests.unit.api.kit import Api, fields_of, message_of


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


BAD_BODIES: list[tuple[bytes, str, str]] = [
    (b"", "body", "empty"),
    (b" \n", "body", "empty"),
    (b"{", "body", "line 1, column 2"),
    (b'{\n "a": }', "body", "line 2, column 7"),
    (b"\xff{}", "body", "UTF-8"),
    (b"\xef\xbb\xbf{}", "body", "BOM"),
    (b"[]", "body", "not a JSON object"),
    (b"null", "body", "not a JSON object"),
    (b'{"payload": [1, NaN]}', "payload.1", "not a number"),
    (b'{"delay": -Infinity}', "delay", "not a number"),
    (b'{"delay": 1e400}', "delay", "not a number"),
    (b'{"delay": ' + b"9" * 5000 + b"}", "delay", "not a number"),
    (b'{"delay": 1, "delay": 2}', "delay", "twice"),
    (b'{"payload": {"a": 1, "a": 2}}', "a", "twice"),
    (b'{"name": "\\ud800"}', "name", "surrogate"),
    (b'{"payload": {"a": {"\\udfff": 1}}}', "payload.a.?", "surrogate"),
    (b'{"payload": ' + b"[" * 100 + b"]" * 100 + b"}", "body", "nested"),
    (b'{"payload": ' + b"[" * 500_000, "body", "nested"),
    (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "body", "nested"),
]


@pytest.mark.parametrize(("body", "name", "advice"), BAD_BODIES)
def test_bad_json_is_refused_with_its_place(api: Api, body: bytes, name: str, advice: str) -> None:
    response = api.post(body)
    assert (response.status, response.body["error"]["code"]) == (400, "bad_json")
    assert fields_of(response) == {name}
    assert advice in message_of(response)
    assert api.stored() == []
    assert response.text.encode()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"{" + b" " * MAX_BODY + b"}", "body"),
        (b'{"callback_url": "http://a/", "payload": "' + b"x" * (MAX_PAYLOAD - 1) + b'"}', "payload"),
    ],
)
def test_what_is_too_large_is_refused(api: Api, body: bytes, name: str) -> None:
    response = api.post(body)
    assert (response.status, fields_of(response)) == (413, {name})
    assert api.stored() == []
