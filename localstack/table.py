"""The table of the schema as DynamoDB's `CreateTable` takes it, for tests and benchmarks without the CDK stacks."""

from typing import Any

from onthedot.core import schema


def table_arguments(table: str) -> dict[str, Any]:
    types = {schema.PARTITION_KEY: "S", schema.SORT_KEY: "S"}
    for index in schema.INDEXES:
        types |= {index.partition_key: "S", index.sort_key: index.sort_type}
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "KeySchema": _key_schema(schema.PARTITION_KEY, schema.SORT_KEY),
        "GlobalSecondaryIndexes": [_index_arguments(index) for index in schema.INDEXES],
    }


def _index_arguments(index: schema.Index) -> dict[str, Any]:
    included = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.included)}
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition_key, index.sort_key),
        "Projection": included if index.included else {"ProjectionType": "KEYS_ONLY"},
    }


def _key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
