"""The table's other items: progress of the passes, tenants' limits, and tokens."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.slots import SlotKind, bucket_of
from onthedot.engines.aws.dynamodb.keys import LIMITS_PARTITION, limits_key, progress_key, token_key
from onthedot.engines.aws.errors import translated
from onthedot.ports import Principal
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


_HELD: Final = "held#"


class DynamoProgressStore:
    """`ProgressStore`: one item for each shard group, one write for each tick."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read_progress(self, group: int) -> PassProgress:
        with translated("read_progress"):
            reply = self._client.get_item(TableName=self._table, Key=progress_key(group), ConsistentRead=True)
            if "Item" not in reply:
                table = self._client.describe_table(TableName=self._table)["Table"]
                return PassProgress(born=bucket_of(int(table["CreationDateTime"].timestamp() * 1000)))
        done = json.loads(reply["Item"]["done"]["S"])
        return PassProgress({SlotKind(k): {int(s): b for s, b in shards.items()} for k, shards in done.items()})

    def write_progress(self, group: int, progress: PassProgress) -> None:
        text = json.dumps({kind.value: dict(shards) for kind, shards in progress.done.items()})
        with translated("write_progress"):
            self._client.put_item(TableName=self._table, Item={**progress_key(group), "done": {"S": text}})


class DynamoLimitsStore:
    """`LimitsStore`: one item with all limits, and one for each group that holds somebody back."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self) -> Limits:
        with translated("read limits"):
            reply = self._client.query(
                TableName=self._table,
                KeyConditionExpression="#pk = :limits",
                ExpressionAttributeNames={"#pk": PARTITION_KEY},
                ExpressionAttributeValues={":limits": {"S": LIMITS_PARTITION}},
            )
        tenants: dict[str, TenantLimits] = {}
        held: dict[str, str] = {}
        for item in reply["Items"]:
            if item[SORT_KEY]["S"].startswith(_HELD):
                held |= json.loads(item["held"]["S"])
            else:
                stored = json.loads(item["tenants"]["S"])
                tenants = {tenant: TenantLimits(**limits) for tenant, limits in stored.items()}
        return Limits(tenants, held)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        """Limits are set by people, seldom: the last writer wins."""
        tenants = {name: asdict(value) for name, value in self.read().tenants.items() if name != tenant}
        if limits is not None:
            tenants[tenant] = asdict(limits)
        with translated("put limits"):
            self._client.put_item(TableName=self._table, Item={**limits_key(), "tenants": {"S": json.dumps(tenants)}})

    def mark_throttled(self, group: int, held: Mapping[str, str]) -> None:
        item = {**limits_key(f"{_HELD}{group}"), "held": {"S": json.dumps(dict(held))}}
        with translated("mark held"):
            self._client.put_item(TableName=self._table, Item=item)


class DynamoTokenStore:
    """`TokenStore`."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def find(self, token_hash: str) -> Principal | None:
        with translated("find token"):
            reply = self._client.get_item(TableName=self._table, Key=token_key(token_hash))
        item = reply.get("Item")
        return Principal(item["tenant"]["S"], item["role"]["S"], item["name"]["S"]) if item else None

    def add(self, token_hash: str, principal: Principal, created_at: int) -> None:
        item = {
            **token_key(token_hash),
            "tenant": {"S": principal.tenant},
            "role": {"S": principal.role},
            "name": {"S": principal.name},
            "token_created_at": {"N": str(created_at)},
        }
        with translated("add token"):
            self._client.put_item(TableName=self._table, Item=item)
