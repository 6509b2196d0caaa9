"""The table and the bucket, and their promises about stored data."""

from typing import Any

import pytest

from onthedot.core import schema
from tests.infra.kit import Assembly, resolve


def table(assembly: Assembly) -> dict[str, Any]:
    return assembly.named("AWS::DynamoDB::Table", "TableName", "jobs")


def bucket(assembly: Assembly) -> dict[str, Any]:
    [properties] = assembly.properties("AWS::S3::Bucket")
    return properties


def keys(schema_: list[dict[str, str]]) -> list[str]:
    return [key["AttributeName"] for key in schema_]


def test_the_table_is_keyed_as_the_schema_says(prod: Assembly) -> None:
    assert keys(table(prod)["KeySchema"]) == [schema.PARTITION_KEY, schema.SORT_KEY]
    assert table(prod)["TimeToLiveSpecification"] == {"AttributeName": schema.TTL_ATTRIBUTE, "Enabled": True}
    assert table(prod)["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("index", schema.INDEXES, ids=lambda index: index.name)
def test_each_index_of_the_schema_is_there(prod: Assembly, index: schema.Index) -> None:
    [found] = [i for i in table(prod)["GlobalSecondaryIndexes"] if i["IndexName"] == index.name]
    assert keys(found["KeySchema"]) == [index.partition_key, index.sort_key]
    assert tuple(found["Projection"].get("NonKeyAttributes", ())) == index.included
    assert found["Projection"]["ProjectionType"] == ("INCLUDE" if index.included else "KEYS_ONLY")
    types = {a["AttributeName"]: a["AttributeType"] for a in table(prod)["AttributeDefinitions"]}
    assert types[index.sort_key] == index.sort_type


def test_there_is_no_index_that_the_schema_does_not_know(prod: Assembly) -> None:
    assert len(table(prod)["GlobalSecondaryIndexes"]) == len(schema.INDEXES)


def test_the_table_is_encrypted_and_can_be_restored(prod: Assembly) -> None:
    assert table(prod)["SSESpecification"]["SSEEnabled"] is True
    assert table(prod)["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_warm_throughput_goes_to_the_table_and_to_every_index(prod: Assembly) -> None:
    warm = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 40000}
    everywhere = [table(prod), *table(prod)["GlobalSecondaryIndexes"]]
    assert [part["WarmThroughput"] for part in everywhere] == [warm] * len(everywhere)


def test_without_the_context_value_the_table_grows_by_itself(local: Assembly) -> None:
    assert "WarmThroughput" not in table(local)


@pytest.mark.parametrize("kind", ["AWS::DynamoDB::Table", "AWS::S3::Bucket"])
def test_data_outlives_its_stack_unless_the_stage_is_to_throw_away(prod: Assembly, local: Assembly, kind: str) -> None:
    def policies(assembly: Assembly) -> set[tuple[str, str]]:
        return {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in assembly.of_type(kind).values()}

    # A stack whose creation fails takes its empty table with it. Else the next try would find the name taken.
    assert policies(prod) == {("RetainExceptOnCreate", "Retain")}
    assert policies(local) == {("Delete", "Delete")}


def test_the_bucket_has_no_versions_so_that_deleting_its_objects_empties_it(local: Assembly) -> None:
    assert "VersioningConfiguration" not in bucket(local)


def test_a_table_to_keep_cannot_be_deleted_by_accident(prod: Assembly, local: Assembly) -> None:
    assert table(prod)["DeletionProtectionEnabled"] is True
    assert table(local)["DeletionProtectionEnabled"] is False


def test_the_bucket_is_private_and_encrypted(prod: Assembly) -> None:
    assert set(bucket(prod)["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in bucket(prod)
    [policy] = prod.properties("AWS::S3::BucketPolicy")
    denied = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [statement["Condition"] for statement in denied]


def test_no_payload_is_deleted_by_its_age_since_its_job_may_be_years_ahead(prod: Assembly) -> None:
    rules = bucket(prod)["LifecycleConfiguration"]["Rules"]
    expiring = [rule for rule in rules if any(key.startswith("Expiration") for key in rule)]
    assert {rule.get("Prefix") for rule in expiring} == {schema.RESULTS, schema.EVENT_PAYLOADS}


def test_results_go_with_the_history_that_shows_them(prod: Assembly) -> None:
    [rule] = [rule for rule in bucket(prod)["LifecycleConfiguration"]["Rules"] if rule.get("Prefix") == schema.RESULTS]
    assert (rule["ExpirationInDays"], rule["Status"]) == (prod.config.history_days, "Enabled")


def test_names_are_in_the_outputs(prod: Assembly) -> None:
    outputs = prod.template("data")["Outputs"]
    assert resolve(outputs["TableName"]["Value"]).startswith("<Jobs")
    assert resolve(outputs["BlobBucketName"]["Value"]).startswith("<Blobs")
