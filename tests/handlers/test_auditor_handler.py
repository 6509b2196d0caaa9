"""The event of the auditor: counts, metrics and log of the jobs in the table."""

import json
from collections.abc import Callable
from types import ModuleType

import pytest

from onthedot.core.clock import SystemClock
from onthedot.core.shards import ShardStore
from onthedot.engines.store_around import announce
from onthedot.jobs import remove_payloads
from onthedot.jobs.remove_payloads import DAY_MS
from onthedot.settings import AuditorSettings
from tests.handlers.audited import AUDITED, PERIOD_MS, a_job_with_history
from tests.handlers.conftest import BUCKET, Cloud, Context


@pytest.fixture
def auditor(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("auditor", AuditorSettings(**cloud.store_settings, blob_bucket=BUCKET))


def test_a_job_whose_times_all_have_an_outcome_is_well(auditor: ModuleType, cloud: Cloud) -> None:
    a_job_with_history(cloud)
    before = cloud.items()
    counts = auditor.handle({}, Context())
    assert (counts["jobs"], counts["expected"], counts["holes"], counts["late"]) == (1, AUDITED, 0, 0)
    assert cloud.items() == before


def test_jobs_in_shards_of_another_version_are_audited(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    announce(ShardStore(cloud.stored), 2, SystemClock().now())
    for _ in range(8):
        a_job_with_history(cloud)
    auditor = load("auditor", AuditorSettings(**{**cloud.store_settings, "shards": 1}))
    assert auditor.handle({}, Context())["jobs"] == 8


def test_a_hole_is_counted_logged_and_a_metric(
    auditor: ModuleType, cloud: Cloud, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    job = a_job_with_history(cloud, without=3)
    assert auditor.handle({}, Context())["holes"] == 1
    (metric,) = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if "_aws" in line]
    assert (metric["holes"], metric["unsettled"], metric["stage"]) == ([1], [1], "test")
    (hole,) = [vars(record) for record in caplog.records if record.message == "hole"]
    assert (hole["levelname"], hole["job"]) == ("ERROR", job.job_id)
    assert hole["times"] == [job.fire_time + 3 * PERIOD_MS]


def test_an_auditor_without_time_says_what_it_left(
    auditor: ModuleType, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 0)
    a_job_with_history(cloud)
    counts = auditor.handle({}, Context())
    assert counts["jobs"] == 0
    assert counts["out_of_time"] == 2 * 121


def test_payloads_that_no_job_uses_are_removed_after_two_passes(
    auditor: ModuleType, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3, clock = cloud.client("s3"), SystemClock()
    key = f"payloads/0123456789abcdef/job_{'a' * 26}/{clock.now() - 40 * DAY_MS}-a1b2c3"
    s3.put_object(Bucket=BUCKET, Key=key, Body=b"{}")

    def payloads() -> list[str]:
        return [blob["Key"] for blob in s3.list_objects_v2(Bucket=BUCKET, Prefix="payloads/").get("Contents", [])]

    auditor.handle({}, Context())
    assert payloads() == [key]
    monkeypatch.setattr(remove_payloads, "GRACE_MS", 0)
    auditor.handle({}, Context())
    assert payloads() == []


def test_without_blobs_the_jobs_are_audited_all_the_same(
    auditor: ModuleType, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.client("s3").delete_bucket(Bucket=BUCKET)
    a_job_with_history(cloud)
    assert auditor.handle({}, Context())["jobs"] == 1
    assert "payloads_not_removed" in {record.message for record in caplog.records}
