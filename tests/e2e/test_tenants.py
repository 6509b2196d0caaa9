"""Tenants see only their own data. All data of one is deleted from the stack, by the command with AWS credentials."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from onthedot.cli.main import main
from onthedot.core.schema import BLOBS, blobs_of
from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api, Home, until

LARGE = "x" * 5_000
EVENT = {"source": "leaving", "detail_type": "E2E", "detail": {"text": LARGE}}


def fill(home: Home, tenant: str) -> Api:
    """Give a tenant something of every kind that the API makes."""
    api = home.api_of(tenant)
    assert api.call("PUT", "/v1/gates/slow", {"in_flight": 1})[0] == 200
    url = f"{home.listener.url}/{tenant}"
    done = api.submit(callback_url=url, payload={"text": LARGE}, gates=["slow:1"])
    api.submit(callback_url=url, on_event={"source": ["leaving"]})
    assert api.call("POST", "/v1/events", EVENT)[0] < 300
    api.submit(callback_url=url, delay=86_400, payload={"text": LARGE})
    api.submit(callback_url=url, cron="0 0 1 1 *")
    deleted = api.submit(callback_url=url, delay=86_400)["job_id"]
    assert api.call("DELETE", f"/v1/jobs/{deleted}")[0] == 200
    assert api.call("POST", "/v1/workers/register", {"capabilities": ["shell"]})[0] == 201
    assert api.call("GET", "/v1/signing-keys")[0] == 200
    api.wait_for(done["job_id"], "SUCCEEDED")
    home.listener.wait_for(f"/{tenant}", count=2)
    until(lambda: api.call("GET", "/v1/statistics")[1]["total"]["succeeded"] >= 2)  # on AWS it is seconds behind
    return api


def keys_of(deployment: Deployment, tenant: str) -> set[str]:
    """The keys of all items that name the tenant, and of its blobs."""
    items = [i for i in deployment.all_items() if tenant in str(i)]
    s3 = deployment.client("s3")
    bucket = next(one["Name"] for one in s3.list_buckets()["Buckets"] if "blobs" in one["Name"])
    found: list[Any] = [
        blob
        for prefix in BLOBS
        for blob in s3.list_objects_v2(Bucket=bucket, Prefix=blobs_of(tenant, prefix)).get("Contents", [])
    ]
    return {f"{i['pk']['S']} {i['sk']['S']}" for i in items} | {blob["Key"] for blob in found}


def but_counters(keys: set[str]) -> set[str]:
    """Keys without those of statistics. They have an item for each minute in which a run has ended."""
    return {key for key in keys if not key.startswith("statistics#")}


def test_one_tenant_goes_and_another_stays(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving, staying = fill(deployment, "leaving-tenant"), fill(deployment, "staying-tenant")
    before = keys_of(deployment, "staying-tenant")
    assert len(but_counters(keys_of(deployment, "leaving-tenant"))) == len(but_counters(before)) > 10

    for name in ("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "")  # the command sets them, and monkeypatch puts them back
    monkeypatch.setenv("ONTHEDOT_HOME", str(deployment.home))
    # The local API Gateway remembers a token for ten seconds.
    monkeypatch.setattr("onthedot.access.tenants.SETTLED_MS", 5_000)
    monkeypatch.setattr("onthedot.access.tenants.STOPPED_MS", 5_000)
    arguments = ["tenants", "delete", "leaving-tenant", "--stage", "local", "--yes", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    deleted = json.loads(result.stdout)
    assert (deleted["tenant"], deleted["tokens"]) == ("leaving-tenant", 1)
    assert deleted["blobs"] >= 2
    assert keys_of(deployment, "leaving-tenant") == set()
    until(lambda: leaving.call("GET", "/v1/gates")[0] == 401, 60)

    assert keys_of(deployment, "staying-tenant") == before
    assert staying.call("GET", "/v1/gates/slow")[0] == 200


def test_a_tenant_sees_nothing_of_another_one(home: Home) -> None:
    owner, stranger = fill(home, "owning-tenant"), home.api_of("strange-tenant")
    status, job = owner.call("POST", "/v1/jobs", {"callback_url": f"{home.listener.url}/owned", "delay": 3_600})
    assert status == 202
    status, worker = owner.call("POST", "/v1/workers/register", {"capabilities": ["shell"]})
    assert status == 201
    for path in (f"/v1/jobs/{job['job_id']}", "/v1/gates/slow", f"/v1/workers/{worker['worker_id']}"):
        assert owner.call("GET", path)[0] == 200
        assert stranger.call("GET", path)[0] == 404, path
    for path, name in (("/v1/gates", "gates"), ("/v1/dead-letters", "dead_letters")):
        status, answer = stranger.call("GET", path)
        assert (status, answer[name]) == (200, []), path
    workers = [api.call("GET", "/v1/workers")[1]["workers"] for api in (owner, stranger)]
    assert [worker["worker_id"] in {one["worker_id"] for one in seen} for seen in workers] == [True, False]
    keys = [api.call("GET", "/v1/signing-keys")[1]["keys"][0]["secret"] for api in (owner, stranger)]
    assert keys[0] != keys[1]
    assert owner.call("DELETE", f"/v1/jobs/{job['job_id']}")[0] == 200
