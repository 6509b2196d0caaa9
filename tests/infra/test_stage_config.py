"""Context values: accepted ones, and that each wrong one is refused by its name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_values import BadContext
from onthedot.core.choices import Priority
from stage_config import LEAST_CONCURRENCY, StageConfig, WarmThroughput, share_out


def config(**context: Any) -> StageConfig:
    return StageConfig.from_context({"stage": "prod", **context})


def test_a_stage_is_all_that_is_needed() -> None:
    assert config(region=None) == config() == StageConfig(stage="prod")
    with pytest.raises(BadContext, match=r"context stage: is required"):
        StageConfig.from_context({})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stage", "Prod"),
        ("stage", ""),
        ("stage", "a" * 21),
        ("stage", 7),
        ("region", "moon"),
        ("account", "12345"),
        ("account", 123456789012),
        ("shards", "0"),
        ("shards", "1025"),
        ("shards", "1.5"),
        ("shards", "٤"),
        ("shards", True),
        ("lookahead", "11"),
        ("worker_concurrency", "5"),
        ("worker_weights", "6:3"),
        ("log_retention_days", "31"),
        ("api_burst", "10"),
        ("warm_throughput", "12000:3999"),
        ("local", "yes"),
        ("long_concurrency", "1"),
        ("vpc_id", "default"),
        ("vpc_id", "vpc-12345678"),
        ("vpc_subnets", ["eu-west-1a"]),
        ("lambda_functions", ["no spaces"]),
        ("lambda_functions", "[a]"),
        ("lambda_functions", ["arn:aws:sqs:eu-west-1:123456789012:queue"]),
        ("aws_calls", ["sqs on *"]),
        ("aws_calls", ["sqs:* on *"]),
        ("aws_calls", ["sqs:SendMesage on *"]),
        ("aws_calls", [{"service": "sqs", "action": "SendMessage", "resource": "*", "resources": ["*"]}]),
        ("aws_calls", [{"service": "sqs", "action": "SendMessage", "resources": ["my-queue"]}]),
        ("aws_calls", [{"service": "sqs", "action": "SendMessage", "iam_action": "sqs:*", "resources": ["*"]}]),
        ("bus_tenant", "no spaces"),
        ("bus_tenant", "onthedot"),
        ("s3_event_buckets", "No_Bucket"),
        ("alarm_email", "nobody"),
        ("alarm_topic", "arn:aws:sqs:a:1:b"),
        ("pools", "{"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_key(key: str, value: Any) -> None:
    with pytest.raises(BadContext, match=rf"context {key}=") as refused:
        config(**{key: value})
    assert refused.value.key == key


@pytest.mark.parametrize("typo", ["shard", "log-retention-days"])
def test_a_typo_is_refused_with_what_was_meant(typo: str) -> None:
    with pytest.raises(BadContext, match=rf"context {typo}=.*did you mean [a-z_]+\?"):
        config(**{typo: "30"})


def test_what_resembles_no_key_is_refused_with_the_list_of_keys() -> None:
    with pytest.raises(BadContext, match=r"xyzzy='1': .*stage, region"):
        config(xyzzy="1")


def test_the_contexts_of_cdk_itself_are_left_alone() -> None:
    cdk_keys = ["aws:cdk:bundling-stacks", "@aws-cdk/core:x", "acknowledged-issue-numbers", "hosted-zone:a=b"]
    assert config(**{key: [1] for key in cdk_keys}) == config()


def test_text_of_the_command_line_and_typed_values_of_cdk_json_mean_the_same() -> None:
    as_text = config(shards="64", worker_weights="5:4:1", warm_throughput="12000:5000", local="true")
    typed = config(shards=64, worker_weights=[5, 4, 1], warm_throughput=[12000, 5000], local=True)
    assert as_text == typed
    assert typed.warm_throughput == WarmThroughput(reads=12000, writes=5000)


@pytest.mark.parametrize("stage", ["local", "dev-ana", "ci-17", "test-a-b"])
def test_stages_to_throw_away(stage: str) -> None:
    assert StageConfig(stage=stage).disposable


@pytest.mark.parametrize("stage", ["prod", "device", "dev2", "dev-", "prod-test", "my-dev"])
def test_stages_to_keep(stage: str) -> None:
    assert not StageConfig(stage=stage).disposable


@pytest.mark.parametrize(("shards", "groups"), [(1, 1), (4, 1), (5, 2), (1024, 256)])
def test_every_shard_is_in_a_group(shards: int, groups: int) -> None:
    assert StageConfig(stage="prod", shards=shards).shard_groups == groups


def test_concurrency_is_shared_by_weight() -> None:
    shares = config(worker_concurrency=100, worker_weights="6:3:1").concurrency_by_priority()
    assert shares == {Priority.HIGH: 60, Priority.MEDIUM: 30, Priority.LOW: 10}


@given(st.integers(6, 3000), st.tuples(*[st.integers(1, 1000)] * 3))
def test_shares_add_up_and_nobody_starves(total: int, weights: tuple[int, int, int]) -> None:
    shares = share_out(total, weights)
    assert sum(shares) == total
    assert min(shares) >= LEAST_CONCURRENCY
    heaviest, lightest = weights.index(max(weights)), weights.index(min(weights))
    assert shares[heaviest] >= shares[lightest]


CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
TABLE = "onthedot-prod-jobs-20260301-120000"
STREAM = f"arn:aws:dynamodb:eu-west-1:123456789012:table/{TABLE}/stream/2026-03-01T12:00:00.000"


@pytest.mark.parametrize(
    ("base_path", "url"), [(None, "https://jobs.example.com"), ("sched", "https://jobs.example.com/sched")]
)
def test_a_domain_and_its_path_are_the_url_of_the_api(base_path: str | None, url: str) -> None:
    given = config(domain_name="jobs.example.com", certificate_arn=CERTIFICATE, base_path=base_path)
    assert (given.public_url, config().public_url) == (url, "")


@pytest.mark.parametrize(
    ("key", "context"),
    [
        ("domain_name", {"domain_name": "jobs.example.com"}),
        ("certificate_arn", {"certificate_arn": CERTIFICATE}),
        ("base_path", {"base_path": "sched"}),
        ("hosted_zone", {"hosted_zone": "Z0123456789ABC:example.com"}),
        ("domain_name", {"domain_name": "https://jobs.example.com", "certificate_arn": CERTIFICATE}),
        ("certificate_arn", {"domain_name": "jobs.example.com", "certificate_arn": "my-certificate"}),
        ("base_path", {"domain_name": "a.example.com", "certificate_arn": CERTIFICATE, "base_path": "a/b"}),
        ("base_path", {"domain_name": "a.example.com", "certificate_arn": CERTIFICATE, "base_path": "/a"}),
        ("hosted_zone", {"domain_name": "a.example.com", "certificate_arn": CERTIFICATE, "hosted_zone": "Z1:b.com"}),
        (
            "hosted_zone",
            {"domain_name": "badexample.com", "certificate_arn": CERTIFICATE, "hosted_zone": "Z1:example.com"},
        ),
        ("hosted_zone", {"domain_name": "a.example.com", "certificate_arn": CERTIFICATE, "hosted_zone": "example.com"}),
        ("certificate_arn", {"domain_name": "a.example.com", "certificate_arn": CERTIFICATE, "region": "us-east-1"}),
        ("table_name", {"table_name": TABLE}),
        ("table_stream_arn", {"table_stream_arn": STREAM}),
        ("table_name", {"table_name": "another-table", "table_stream_arn": STREAM}),
        ("alarm_email", {"alarm_topic": "arn:aws:sns:eu-west-1:123456789012:pager", "alarm_email": "ops@example.com"}),
    ],
)
def test_values_that_do_not_fit_together_are_refused_by_name(key: str, context: dict[str, str]) -> None:
    with pytest.raises(BadContext) as refused:
        config(**context)
    assert refused.value.key == key
