"""The table finds the route that the pattern of its path would match."""

import re
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.api.errors import ApiError
from onthedot.api.route import Route, RouteTable
from onthedot.api.routes import ROUTES

TABLE = RouteTable(ROUTES)
SEGMENTS = [*{segment for route in ROUTES for segment in route.path.split("/")}, "job_x", "a.b:c-d", "é", "a b", "x\n"]


def _quoted(text: str) -> str:
    return quote(text, safe="/:", errors="replace")


PATHS = st.one_of(
    st.sampled_from([route.path.replace("{id}", "job_x") for route in ROUTES]),
    st.builds("/v1/{}/{}".format, st.sampled_from(["gates", "limits"]), st.text(max_size=20).map(_quoted)),
    st.lists(st.sampled_from([*SEGMENTS, "y" * 128, "y" * 129]), max_size=7).map("/".join),
    st.text(max_size=20),
)


def matched(route: Route, path: str) -> str | None:
    """The id or the text in the path, by a regular expression made of the route's path."""
    pattern = re.escape(route.path).replace(r"\{id\}", "([A-Za-z0-9_.:-]{1,128})")
    pattern = re.sub(r"\\\{(?:name|tenant|file)\\\}", r"((?s:.+))", pattern)
    found = re.fullmatch(pattern, path, re.ASCII)
    return None if found is None else unquote("".join(found.groups()))


@given(path=PATHS, method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]))
@settings(max_examples=1_000)
def test_a_route_is_found_as_if_each_were_matched_by_its_pattern(path: str, method: str) -> None:
    expected = {route.method: (route, found) for route in ROUTES if (found := matched(route, path)) is not None}
    if method in expected:
        assert TABLE.find(method, path) == expected[method]
        return
    with pytest.raises(ApiError) as refused:
        TABLE.find(method, path)
    assert refused.value.status == (405 if expected else 404)
    assert refused.value.headers.get("Allow", "") == ", ".join(sorted(expected))


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("customer:42", "customer:42"),
        ("customer%3A42", "customer:42"),
        ("customer:a%2Fb", "customer:a/b"),
        ("customer:a/b", "customer:a/b"),
        ("customer:100%25", "customer:100%"),
        ("customer:100%", "customer:100%"),
        ("customer:%C3%BC%20%F0%9F%98%80", "customer:ü 😀"),
        ("c:" + "%C3%BC" * 128, "c:" + "ü" * 128),
    ],
)
def test_a_text_at_the_end_of_a_path_may_have_any_characters(encoded: str, text: str) -> None:
    assert TABLE.find("GET", f"/v1/gates/{encoded}")[1] == text


@pytest.mark.parametrize("encoded", ["", "%FF", "c:%ED%A0%80", "c:\udc80", "y" * 257])
def test_a_text_that_is_none_is_an_unknown_path(encoded: str) -> None:
    with pytest.raises(ApiError) as refused:
        TABLE.find("GET", f"/v1/gates/{encoded}")
    assert refused.value.status == 404


def test_a_fixed_path_also_has_the_methods_of_the_path_with_an_id() -> None:
    assert TABLE.find("POST", "/v1/jobs/batch")[1] == ""
    assert TABLE.find("GET", "/v1/jobs/batch")[1] == "batch"


def test_no_two_routes_share_a_method_and_a_path() -> None:
    calls = [(route.method, route.path) for route in ROUTES]
    assert len(set(calls)) == len(calls)
