"""Parameters of the query: each route refuses unknown parameters, and a parameter that is given twice."""

from collections.abc import Iterator

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.route import Route
from onthedot.api.router import handle
from onthedot.api.routes import ROUTES
from tests.builders import a_world
from tests.unit.api.kit import ACME, Api, fields_of, message_of

CHECKED = [route for route in ROUTES if not (route.is_page or route.ignores_query)]


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


def ask(api: Api, route: Route, query: dict[str, str], repeated: tuple[str, ...] = ()) -> Response:
    path = route.path
    for place in ("{id}", "{name}", "{tenant}", "{file}"):
        path = path.replace(place, "one")
    request = Request(route.method, path, query, principal=ACME, repeated_query=repeated)
    return handle(api.world.engine, request)


@pytest.mark.parametrize("route", CHECKED, ids=lambda route: f"{route.method} {route.path}")
def test_an_unknown_parameter_is_refused_by_name(api: Api, route: Route) -> None:
    response = ask(api, route, {"foo": "1"})
    assert (response.status, fields_of(response)) == (422, {"foo"})
    assert message_of(response) == "unknown field; remove it"
    assert api.stored() == []


@pytest.mark.parametrize("route", [route for route in CHECKED if route.query], ids=lambda route: route.path)
def test_a_parameter_that_is_given_twice_is_refused_by_name(api: Api, route: Route) -> None:
    name = next(iter(route.query.model_fields))
    response = ask(api, route, {name: "1"}, (name,))
    assert (response.status, fields_of(response)) == (422, {name})
    assert message_of(response) == "is given twice; keep one of them"


def test_health_and_the_console_ignore_parameters(api: Api) -> None:
    ignoring = [route for route in ROUTES if route not in CHECKED]
    assert {route.path for route in ignoring} == {"/v1/health", "/console", "/console/", "/console/{file}"}
    for path in ("/v1/health?probe=1", "/console?v=1"):
        assert api.anonymous().get(path).status == 200


def test_a_caller_without_a_token_is_told_nothing_about_parameters(api: Api) -> None:
    assert api.anonymous().get("/v1/queues?foo=1").status == 401


@pytest.mark.parametrize("number", ["1000000000000", "9" * 300])
def test_a_number_that_is_too_large_is_told_the_bounds(api: Api, number: str) -> None:
    assert message_of(api.get(f"/v1/jobs?limit={number}")) == "is too large; give 100 or less"


@pytest.mark.parametrize("text", ["", "-1", "1.5", "٣", "1e3", " 1"])
def test_a_text_that_is_no_whole_number_is_told_so(api: Api, text: str) -> None:
    assert message_of(api.ask("/v1/jobs", {"limit": text})) == "is not a whole number; give digits only"
