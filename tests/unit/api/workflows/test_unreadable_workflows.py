"""A workflow that this version cannot read: its tenant learns so, others learn nothing."""

import pytest

from tests.builders import a_world
from tests.unit.api.kit import URL, Api


@pytest.mark.parametrize("poison", ["UPDATE runs SET format = 99", "UPDATE blobs SET content = x'5b5d'"])
def test_a_workflow_that_cannot_be_read_is_shown_as_such_to_its_tenant_only(poison: str) -> None:
    jobs = [{"key": f"n{number}", "callback_url": URL} for number in range(20)]
    with a_world() as world:
        api, other = Api(world), Api(world).called_by("other")
        workflow_id = api.send("POST", "/v1/workflows", jobs=jobs, delay=3600).body["workflow_id"]
        with world.database.transaction() as connection:
            connection.execute(poison)
        assert api.get(f"/v1/workflows/{workflow_id}").body["error"]["code"] == "unreadable"
        foreign, missing = other.get(f"/v1/workflows/{workflow_id}"), other.get("/v1/workflows/job_missing")
        assert (foreign.status, foreign.body) == (404, missing.body)
