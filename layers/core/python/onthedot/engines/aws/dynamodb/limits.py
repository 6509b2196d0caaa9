"""The limits of tenants, as items of the table."""

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from onthedot import registry_codec
from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.engines.aws.dynamodb.keys import LIMITS_PARTITION, limits_key
from onthedot.engines.aws.errors import translated
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
_LIMITS: Final = "limits"
_THROTTLED: Final = "throttled"
_TENANT_PREFIX: Final = "tenant#"
_THROTTLED_PREFIX: Final = f"{_THROTTLED}#"


class DynamoLimitsStore:
    """A `LimitsStore` with one item for each tenant that has limits, and one for each shard group that throttles."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self) -> Limits:
        tenants: dict[str, TenantLimits] = {}
        throttled: dict[str, str] = {}
        for item in self._items():
            name = item[SORT_KEY]["S"]
            try:
                if name.startswith(_THROTTLED_PREFIX):
                    throttled |= registry_codec.throttled_of(item[_THROTTLED]["S"])
                else:
                    tenants[name.removeprefix(_TENANT_PREFIX)] = registry_codec.limits_of(item[_LIMITS]["S"])
            except registry_codec.DAMAGED as error:
                # One damaged item must not stop the runs of all tenants.
                _LOG.error("limits_unreadable", extra={"item": name, "why": repr(error)})
        return Limits(tenants, throttled)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        key = limits_key(f"{_TENANT_PREFIX}{tenant}")
        with translated("put limits"):
            if limits is None:
                self._client.delete_item(TableName=self._table, Key=key)
            else:
                item = {**key, _LIMITS: {"S": registry_codec.limits_text(limits)}}
                self._client.put_item(TableName=self._table, Item=item)

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        marks = {_THROTTLED: {"S": registry_codec.throttled_text(throttled)}}
        with translated("mark throttled"):
            self._client.put_item(TableName=self._table, Item={**limits_key(f"{_THROTTLED_PREFIX}{group}"), **marks})

    def _items(self) -> Iterator[Mapping[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            with translated("read limits"):
                reply = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :limits",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY},
                    ExpressionAttributeValues={":limits": {"S": LIMITS_PARTITION}},
                    **start,
                )
            yield from reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}
