"""The limits of tenants, as items of the table."""

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from onthedot import registry_codec
from onthedot.domain.gates.limits import Limits, TenantLimits
from onthedot.engines.aws.dynamodb.formats import is_newer
from onthedot.engines.aws.dynamodb.keys import LIMITS_PARTITION, Key, limits_key
from onthedot.engines.aws.errors import translated
from onthedot.engines.gate_limits import tenant_limits_or_stop
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
_LIMITS: Final = "limits"
# Earlier versions stored marks of throttled tenants beside the items that have this prefix.
TENANT_PREFIX: Final = "tenant#"


class DynamoLimitsStore:
    """A `LimitsStore` with one item for each tenant that has limits."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self) -> Limits:
        tenants: dict[str, TenantLimits] = {}
        for item in self._items():
            name = item[SORT_KEY]["S"]
            try:
                tenants[name.removeprefix(TENANT_PREFIX)] = registry_codec.limits_of(_text(item) or "")
            except registry_codec.DAMAGED as error:
                # One damaged item must not stop the runs of all tenants.
                _LOG.error("limits_unreadable", extra={"item": name, "why": repr(error)})
        return Limits(tenants)

    def find(self, tenant: str) -> TenantLimits | None:
        with translated("find limits"):
            reply = self._client.get_item(TableName=self._table, Key=_key(tenant), ConsistentRead=True)
        item = reply.get("Item")
        return None if item is None else tenant_limits_or_stop(tenant, _text(item))

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        with translated("put limits"):
            if limits is None:
                self._client.delete_item(TableName=self._table, Key=_key(tenant))
            else:
                item = {**_key(tenant), _LIMITS: {"S": registry_codec.limits_text(limits)}}
                self._client.put_item(TableName=self._table, Item=item)

    def _items(self) -> Iterator[Mapping[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            with translated("read limits"):
                reply = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :limits AND begins_with(#sk, :tenant)",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY, "#sk": SORT_KEY},
                    ExpressionAttributeValues={":limits": {"S": LIMITS_PARTITION}, ":tenant": {"S": TENANT_PREFIX}},
                    **start,
                )
            yield from reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


def _text(item: Mapping[str, Any]) -> str | None:
    text: str | None = item.get(_LIMITS, {}).get("S")
    return None if is_newer(item) else text


def _key(tenant: str) -> Key:
    return limits_key(f"{TENANT_PREFIX}{tenant}")
