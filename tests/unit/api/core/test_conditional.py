"""Conditional GET: a client that has the answer already gets 304."""

from collections.abc import Iterator

import pytest

from tests.builders import a_world
from tests.unit.api.kit import Api


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


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
