"""Requests about the transfer of a stage: a mistake is named by its field and changes nothing."""

from typing import Any

import pytest

from tests.builders import World
from tests.unit.api.kit import Api, fields_of


@pytest.mark.parametrize(
    ("path", "fields", "named"),
    [
        ("stage/freeze", {"now": True}, "now"),
        ("stage/thaw", {"force": "yes"}, "force"),
        ("stage/thaw", {"force": None}, "force"),
        ("export/finish", {}, "freeze_id"),
        ("import/begin", {"freeze_id": ""}, "freeze_id"),
        ("import/begin", {"freeze_id": "x" * 101}, "freeze_id"),
        ("import/begin", {"freeze_id": 7}, "freeze_id"),
        ("import", {"freeze_id": "f", "entries": {}}, "entries"),
        ("import", {"freeze_id": "f", "entries": [1] * 1_001}, "entries"),
        ("import", {"freeze_id": "f", "entries": [], "dry": True}, "dry"),
        ("import/release", {"freeze": "f"}, "freeze_id"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_changes(
    api: Api, world: World, path: str, fields: dict[str, Any], named: str
) -> None:
    response = api.send("POST", f"/v1/{path}", **fields)
    assert response.status == 422
    assert named in fields_of(response)
    assert world.stage.fresh().is_open


@pytest.mark.parametrize(
    ("query", "named"), [("history=yes", "history"), ("only=all", "only"), ("cursor=abc", "cursor"), ("x=1", "x")]
)
def test_a_wrong_parameter_is_named(api: Api, query: str, named: str) -> None:
    response = api.get(f"/v1/export?{query}")
    assert response.status == 422
    assert fields_of(response) == {named}


@pytest.mark.parametrize("path", ["stage/thaw", "import", "import/begin", "import/release", "export/finish"])
def test_a_body_that_is_no_json_is_refused(api: Api, path: str) -> None:
    assert api.call("POST", f"/v1/{path}", b"{").status == 400


def test_a_page_of_an_import_has_a_bound(api: Api) -> None:
    assert api.call("POST", "/v1/import", b" " * (5 * 1024 * 1024 + 1) + b"{}").status == 413


def test_a_page_with_large_blobs_ends_early_and_the_next_one_goes_on(api: Api, world: World) -> None:
    jobs = {api.job(delay=600, payload="x" * 700_000) for _ in range(5)}
    found: list[str] = []
    pages, cursor = 0, None
    while True:
        page = api.ask("/v1/export", {} if cursor is None else {"cursor": cursor}).body
        found += [entry["id"] for entry in page["entries"] if entry["kind"] == "record"]
        pages += bool(page["entries"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert (sorted(found), pages) == (sorted(jobs), 3)


def test_a_page_says_how_much_it_has_read_and_the_first_one_of_about_how_much(api: Api) -> None:
    for _ in range(5):
        api.job(delay=600, payload="x" * 700_000)
    first = api.get("/v1/export").body
    second = api.ask("/v1/export", {"cursor": first["next_cursor"]}).body
    # Five jobs and the number of shards.
    assert [(page["read"], page["about_total"]) for page in (first, second)] == [(2, 6), (2, None)]
    running = api.get("/v1/export?only=running").body
    assert (running["read"], running["about_total"]) == (6, None)
