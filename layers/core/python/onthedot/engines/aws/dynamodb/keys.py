"""The keys of records as DynamoDB has them."""

from collections.abc import Mapping
from typing import Any

from onthedot.core import schema
from onthedot.core.schema import PARTITION_KEY, SORT_KEY, Key

StoredKey = dict[str, Any]


def stored_key(key: Key) -> StoredKey:
    return {PARTITION_KEY: {"S": key.partition}, SORT_KEY: {"S": key.sort}}


def key_of(item: Mapping[str, Any]) -> Key:
    return Key(str(item[PARTITION_KEY]["S"]), str(item[SORT_KEY]["S"]))


def run_key(run_id: str) -> StoredKey:
    return stored_key(schema.run_key(run_id))


def run_id_of(item: Mapping[str, Any]) -> str:
    return schema.run_id_of(key_of(item))


def job_id_of(item: Mapping[str, Any]) -> str:
    return str(item[PARTITION_KEY]["S"])
