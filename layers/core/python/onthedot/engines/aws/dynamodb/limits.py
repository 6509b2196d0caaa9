"""The limits of tenants, as items of the table."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.engines.aws.dynamodb.keys import LIMITS_PARTITION, limits_key
from onthedot.engines.aws.errors import translated
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_THROTTLED: Final = "throttled"
_THROTTLED_PREFIX: Final = f"{_THROTTLED}#"


class DynamoLimitsStore:
    """A `LimitsStore` with one item for all limits, and one for each shard group that throttles a tenant or queue."""

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
        throttled: dict[str, str] = {}
        for item in reply["Items"]:
            if item[SORT_KEY]["S"].startswith(_THROTTLED_PREFIX):
                throttled |= json.loads(item[_THROTTLED]["S"])
            else:
                stored = json.loads(item["tenants"]["S"])
                tenants = {tenant: TenantLimits(**limits) for tenant, limits in stored.items()}
        return Limits(tenants, throttled)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        """Limit a tenant, or lift its limits. Operators do this seldom, so the last writer wins."""
        tenants = {name: asdict(value) for name, value in self.read().tenants.items() if name != tenant}
        if limits is not None:
            tenants[tenant] = asdict(limits)
        with translated("put limits"):
            self._client.put_item(TableName=self._table, Item={**limits_key(), "tenants": {"S": json.dumps(tenants)}})

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        item = {**limits_key(f"{_THROTTLED_PREFIX}{group}"), _THROTTLED: {"S": json.dumps(dict(throttled))}}
        with translated("mark throttled"):
            self._client.put_item(TableName=self._table, Item=item)
