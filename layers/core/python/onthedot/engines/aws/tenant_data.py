"""The data of tenants in the table and the bucket, for the operator who stops or deletes one."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from onthedot import registry_codec
from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import TERMINAL
from onthedot.engines.aws.dynamodb.keys import JOB_SORT_KEY, WORKERS_PARTITION, is_of_tenant, job_id_of
from onthedot.engines.aws.errors import translated
from onthedot.engines.aws.leftovers import retry_leftovers
from onthedot.ports import Clock, Deadline, DeletedPage, Page
from onthedot.schema import BLOBS, PARTITION_KEY, SORT_KEY, blobs_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client

READ_AT_ONCE: Final = 1_000
_DELETED_AT_ONCE: Final = 25
_KEYS: Final = (PARTITION_KEY, SORT_KEY)
# Which of them an item has says whose it is.
_READ: Final = {"#pk": PARTITION_KEY, "#sk": SORT_KEY, "#tenant": "tenant", "#about": "about", "#status": "status"}
_PATIENCE_MS: Final = 30_000

Item = Mapping[str, Any]


class AwsTenantData:
    """A `TenantData` that scans the table: no index has all items of a tenant, such as tombstones and states of gates.

    A scan of a million items costs a few cents.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        s3: "S3Client",
        table: str,
        bucket: str,
        *,
        clock: Clock,
        page: int = READ_AT_ONCE,
    ) -> None:
        self._dynamodb = dynamodb
        self._s3 = s3
        self._table = table
        self._bucket = bucket
        self._clock = clock
        self._page = page

    def delete_page(self, tenant: str, cursor: str | None = None) -> DeletedPage:
        items, following = self._scan(cursor)
        keys = [{name: item[name] for name in _KEYS} for item in items if _is_of(item, tenant)]
        for first in range(0, len(keys), _DELETED_AT_ONCE):
            self._delete(keys[first : first + _DELETED_AT_ONCE])
        return DeletedPage(len(keys), following)

    def jobs_page(self, tenant: str, cursor: str | None = None) -> Page[str]:
        items, following = self._scan(cursor)
        return Page([job_id_of(item) for item in items if _is_live_job(item) and _is_of(item, tenant)], following)

    def _scan(self, cursor: str | None) -> tuple[Sequence[Item], str | None]:
        start: dict[str, Any] = {} if cursor is None else {"ExclusiveStartKey": json.loads(cursor)}
        with translated("read all items"):
            reply = self._dynamodb.scan(
                TableName=self._table,
                ProjectionExpression=", ".join(_READ),
                ExpressionAttributeNames=_READ,
                ConsistentRead=True,
                Limit=self._page,
                **start,
            )
        last = reply.get("LastEvaluatedKey")
        return reply["Items"], None if last is None else json.dumps(last)

    def delete_blobs(self, tenant: str) -> int:
        for prefix in BLOBS:
            with translated("list blobs"):
                reply = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=blobs_of(tenant, prefix))
            found = [blob["Key"] for blob in reply.get("Contents", [])]
            if found:
                self._delete_blobs(found)
                return len(found)
        return 0

    def _delete(self, keys: Sequence[Item]) -> None:
        def attempt(pending: Sequence[Item]) -> Sequence[Item]:
            with translated("delete items"):
                reply = self._dynamodb.batch_write_item(RequestItems={self._table: pending})  # type: ignore[dict-item]
            left: Any = reply.get("UnprocessedItems", {}).get(self._table, [])
            return list(left)

        deadline = Deadline.after(self._clock.now(), _PATIENCE_MS)
        writes: list[Item] = [{"DeleteRequest": {"Key": key}} for key in keys]
        if left := retry_leftovers(writes, attempt, self._clock, deadline):
            raise Unavailable(f"{len(left)} of {len(keys)} items could not be deleted")

    def _delete_blobs(self, found: Sequence[str]) -> None:
        with translated("delete blobs"):
            reply = self._s3.delete_objects(
                Bucket=self._bucket, Delete={"Objects": [{"Key": key} for key in found], "Quiet": True}
            )
        if errors := reply.get("Errors"):
            raise Unavailable(f"{len(errors)} of {len(found)} blobs could not be deleted: {errors[0].get('Code')}")


def _is_live_job(item: Item) -> bool:
    return item[SORT_KEY]["S"] == JOB_SORT_KEY and item.get("status", {}).get("S") not in TERMINAL


def _is_of(item: Item, tenant: str) -> bool:
    if item[PARTITION_KEY]["S"] == WORKERS_PARTITION:
        return registry_codec.tenant_of(item.get("about", {}).get("S", "")) == tenant
    return is_of_tenant(item, tenant)
