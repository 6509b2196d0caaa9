"""The table and the bucket, and their promises about stored data."""

from typing import Any

import pytest

from localstack.table import table_arguments
from onthedot.core import schema
from tests.infra.kit import Assembly


def table(assembly: Assembly) -> dict[str, Any]:
    return assembly.named("AWS::DynamoDB::Table", "TableName", "jobs")


def bucket(assembly: Assembly) -> dict[str, Any]:
    [properties] = assembly.properties("AWS::S3::Bucket")
    return properties


def test_the_table_has_the_keys_and_indexes_of_the_schema(local: Assembly) -> None:
    """`table_arguments` makes the table of the contract tests."""
    made, wanted = table(local), table_arguments("any")
    for part in ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"):
        assert sorted(made[part], key=str) == sorted(wanted[part], key=str)
    assert made["TimeToLiveSpecification"] == {"AttributeName": schema.TTL_ATTRIBUTE, "Enabled": True}
    assert made["BillingMode"] == "PAY_PER_REQUEST"


def test_the_table_is_encrypted_and_can_be_restored(prod: Assembly) -> None:
    assert table(prod)["SSESpecification"]["SSEEnabled"] is True
    assert table(prod)["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_warm_throughput_goes_to_the_table_and_to_every_index(prod: Assembly) -> None:
    warm = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 40000}
    everywhere = [table(prod), *table(prod)["GlobalSecondaryIndexes"]]
    assert [part["WarmThroughput"] for part in everywhere] == [warm] * len(everywhere)


@pytest.mark.parametrize("kind", ["AWS::DynamoDB::Table", "AWS::S3::Bucket"])
def test_data_outlives_its_stack_unless_the_stage_is_to_throw_away(prod: Assembly, local: Assembly, kind: str) -> None:
    def policies(assembly: Assembly) -> set[tuple[str, str]]:
        return {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in assembly.of_type(kind).values()}

    # A stack whose creation fails takes its empty table with it. Else the next try would find the name taken.
    assert policies(prod) == {("RetainExceptOnCreate", "Retain")}
    assert policies(local) == {("Delete", "Delete")}
    assert table(prod)["DeletionProtectionEnabled"] is True
    assert table(local)["DeletionProtectionEnabled"] is False


def test_the_bucket_is_private_and_encrypted(prod: Assembly) -> None:
    assert set(bucket(prod)["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in bucket(prod)
    assert "VersioningConfiguration" not in bucket(prod), "deleting its objects must empty it"
    [policy] = prod.properties("AWS::S3::BucketPolicy")
    denied = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [statement["Condition"] for statement in denied]


def test_no_payload_is_deleted_by_its_age_since_its_job_may_be_years_ahead(prod: Assembly) -> None:
    rules = bucket(prod)["LifecycleConfiguration"]["Rules"]
    expiring = [rule for rule in rules if any(key.startswith("Expiration") for key in rule)]
    days = {rule.get("Prefix"): rule["ExpirationInDays"] for rule in expiring}
    history = prod.config.history_days
    assert days == {schema.RESULTS: history, schema.EVENT_PAYLOADS: history + 14}
