"""The index of the patterns of event jobs, and the ids of received events, as items of the table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.errors import Unavailable
from onthedot.engines.aws.dynamodb.formats import is_newer
from onthedot.engines.aws.dynamodb.keys import event_key, pattern_key, pattern_partition
from onthedot.engines.aws.errors import error_code, translated
from onthedot.engines.aws.leftovers import retry_leftovers
from onthedot.ports import Clock, Deadline, PatternEntry
from onthedot.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_PATIENCE_MS: Final = 5_000
_PAGE: Final = 500

Write = Mapping[str, Any]


class DynamoPatternStore:
    """A `PatternStore` with one item for each key of a pattern. One call writes or removes all items of a pattern."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, page_size: int = _PAGE) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._page_size = page_size

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None:
        about = {"pattern": {"S": entry.pattern}, "put_at": {"N": str(entry.put_at)}}
        items = [{**pattern_key(tenant, key, entry.job_id, entry.name), **about} for key in keys]
        self._write([{"PutRequest": {"Item": item}} for item in items])

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        self._write([{"DeleteRequest": {"Key": pattern_key(tenant, key, job_id, name)}} for key in keys])

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        for key in keys:
            yield from self._entries(pattern_partition(tenant, key))

    def first_time(self, tenant: str, event_id: str, time: int, expires_at: int) -> int:
        key = event_key(tenant, event_id)
        try:
            with translated("first_time"):
                self._client.put_item(
                    TableName=self._table,
                    Item={**key, "event_time": {"N": str(time)}, TTL_ATTRIBUTE: {"N": str(expires_at)}},
                    ConditionExpression="attribute_not_exists(#pk) OR #expiry <= :now",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY, "#expiry": TTL_ATTRIBUTE},
                    ExpressionAttributeValues={":now": {"N": str(self._clock.now() // 1000)}},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return self._remembered_time(error, key)
        return time

    def _remembered_time(self, error: ClientError, key: Any) -> int:
        item: Any = error.response.get("Item")
        if not item:  # not every implementation of DynamoDB returns the current item with the refusal
            with translated("first_time"):
                item = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        if not item:
            raise Unavailable("first_time: the remembered event expired meanwhile")
        return int(item["event_time"]["N"])

    def _entries(self, partition: str) -> Iterator[PatternEntry]:
        start: dict[str, Any] = {}
        while True:
            with translated("matching"):
                reply = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :partition",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY},
                    ExpressionAttributeValues={":partition": {"S": partition}},
                    ConsistentRead=True,
                    Limit=self._page_size,
                    **start,
                )
            yield from map(_entry, reply["Items"])
            if "LastEvaluatedKey" not in reply:
                return
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def _write(self, writes: Sequence[Write]) -> None:
        """Write all of them, in any order. A pattern has no more keys than one call takes."""

        def attempt(pending: Sequence[Write]) -> Sequence[Write]:
            with translated("write patterns"):
                reply = self._client.batch_write_item(RequestItems={self._table: pending})  # type: ignore[dict-item]
            left: Any = reply.get("UnprocessedItems", {}).get(self._table, [])
            return list(left)

        left = retry_leftovers(writes, attempt, self._clock, Deadline.after(self._clock.now(), _PATIENCE_MS))
        if left:
            raise Unavailable(f"write patterns: {len(left)} of {len(writes)} entries could not be written")


def _entry(item: Mapping[str, Any]) -> PatternEntry:
    """Return the entry. Without its pattern it cannot be read, and the reader of its pattern says so.

    Nor can that of a newer version.
    """
    job_id, _, name = str(item[SORT_KEY]["S"]).partition("#")
    return PatternEntry(job_id, name, _pattern(item), int(item.get("put_at", {}).get("N", 0)))


def _pattern(item: Mapping[str, Any]) -> str:
    return "" if is_newer(item) else str(item.get("pattern", {}).get("S", ""))
