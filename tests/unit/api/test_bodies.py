"""Bodies, queries and tags: what is refused, and what a client that has the answer already gets."""

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.route import Route
from onthedot.api.router import handle
from onthedot.api.routes import ROUTES
from onthedot.jobs.requests import MAX_BODY, MAX_PAYLOAD
from tests.unit.api.kit import ACME, Api, fields_of, message_of

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


CHECKED = [route for route in ROUTES if not (route.is_page or route.ignores_query)]


def ask(api: Api, route: Route, query: dict[str, str], repeated: tuple[str, ...] = ()) -> Response:
    path = route.path
    for place in ("{id}", "{name}", "{tenant}", "{file}"):
        path = path.replace(place, "one")
    request = Request(route.method, path, query, principal=ACME, repeated_query=repeated)
    return handle(api.world.engine, request)


def refuses(response: Response, name: str, why: str) -> bool:
    return response.status == 422 and (fields_of(response), message_of(response)) == ({name}, why)


def test_an_unknown_parameter_is_refused_by_name(api: Api) -> None:
    why = "unknown field; remove it"
    assert [route.path for route in CHECKED if not refuses(ask(api, route, {"foo": "1"}), "foo", why)] == []
    assert api.stored() == []


def test_a_parameter_that_is_given_twice_is_refused_by_name(api: Api) -> None:
    for route in CHECKED:
        for name in route.query.model_fields if route.query else ():
            response = ask(api, route, {name: "1"}, (name,))
            assert refuses(response, name, "is given twice; keep one of them"), (route.path, name)


def test_health_and_the_console_ignore_parameters(api: Api) -> None:
    ignoring = [route for route in ROUTES if route not in CHECKED]
    assert {route.path for route in ignoring} == {"/v1/health", "/console", "/console/", "/console/{file}"}
    for path in ("/v1/health?probe=1", "/console?v=1"):
        assert api.anonymous().get(path).status == 200


def test_a_caller_without_a_token_is_told_nothing_about_parameters(api: Api) -> None:
    assert api.anonymous().get("/v1/queues?foo=1").status == 401


@pytest.mark.parametrize("text", ["", "-1", "1.5", "٣", "1e3", " 1"])
def test_a_text_that_is_no_whole_number_is_told_so(api: Api, text: str) -> None:
    assert message_of(api.ask("/v1/jobs", {"limit": text})) == "is not a whole number; give digits only"


def test_an_answer_has_a_tag_that_changes_with_it(api: Api) -> None:
    before = api.get("/v1/jobs")
    assert api.get("/v1/jobs").headers["ETag"] == before.headers["ETag"]
    api.job(name="a")
    assert api.get("/v1/jobs").headers["ETag"] != before.headers["ETag"]


def test_an_answer_that_the_client_has_is_not_sent_again(api: Api) -> None:
    tag = api.get("/v1/jobs").headers["ETag"]
    same = api.call("GET", "/v1/jobs", headers={"if-none-match": tag})
    assert (same.status, same.text, same.headers["ETag"]) == (304, "", tag)
    api.job(name="a")
    changed = api.call("GET", "/v1/jobs", headers={"If-None-Match": tag})
    assert (changed.status, len(changed.body["jobs"])) == (200, 1)


def test_the_tag_of_a_job_is_its_version_and_gives_no_304(api: Api) -> None:
    """Its runs change it without a new version."""
    job_id = api.job(name="a")
    tag = api.get(f"/v1/jobs/{job_id}").headers["ETag"]
    assert tag == '"1"'
    assert api.call("GET", f"/v1/jobs/{job_id}", headers={"If-None-Match": tag}).status == 200


def test_refusals_and_writes_have_no_tag(api: Api) -> None:
    assert "ETag" not in api.get("/v1/jobs/job_x").headers
    assert "ETag" not in api.submit().headers
