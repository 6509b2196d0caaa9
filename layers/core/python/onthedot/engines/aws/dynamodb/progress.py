"""The progress of the claim and sweep passes, as items of the table: one for each shard."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.pass_progress import LONGEST_TICK_MS, ShardProgress, last_tick
from onthedot.engines.aws.dynamodb.formats import FORMAT, refuse_newer_item
from onthedot.engines.aws.dynamodb.keys import progress_key, progress_shard
from onthedot.engines.aws.errors import error_code, translated
from onthedot.engines.progress_text import progress_from, progress_text, text_before
from onthedot.ports import TickLease
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

STATEMENTS_PER_BATCH: Final = 25
KEYS_PER_BATCH: Final = 100
_FREE: Final = (
    "attribute_not_exists(#busy_until) OR #busy_until <= :now OR #busy_until > :longest OR #tick_id = :tick_id"
)


class DynamoProgressStore:
    """A `ProgressStore` and `TickTimes`, with three requests for each tick of a group of up to 25 shards.

    The item of the first shard also has the lease of the tick.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def begin(self, lease: TickLease, now: int) -> Mapping[int, ShardProgress] | None:
        try:
            with translated("begin a tick"):
                reply = self._client.update_item(
                    TableName=self._table,
                    Key=progress_key(lease.shards[0]),
                    UpdateExpression="SET #tick_id = :tick_id, #busy_until = :until",
                    ConditionExpression=f"attribute_not_exists(#format) AND ({_FREE})",
                    ExpressionAttributeNames={"#tick_id": "tick_id", "#busy_until": "busy_until", "#format": FORMAT},
                    ExpressionAttributeValues={
                        ":tick_id": {"S": lease.tick_id},
                        ":until": {"N": str(lease.until)},
                        ":now": {"N": str(now)},
                        ":longest": {"N": str(now + LONGEST_TICK_MS)},
                    },
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            _refuse_newer([error.response.get("Item", {})])  # type: ignore[list-item]
            return None
        items = [reply["Attributes"], *self._read(lease.shards[1:])]
        _refuse_newer(items)
        texts = {progress_shard(item): item["done"]["S"] for item in items if "done" in item}
        read = {shard: progress_from(shard, text) for shard, text in texts.items()}
        for shard in [shard for shard, progress in read.items() if progress is None]:
            self._remove(shard, texts[shard])
        return {shard: progress for shard, progress in read.items() if progress is not None}

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        items = [item for start in range(0, len(shards), KEYS_PER_BATCH) for item in self._some(shards, start)]
        _refuse_newer(items)
        texts = {progress_shard(item): item["done"]["S"] for item in items if "done" in item}
        read = {shard: progress_from(shard, text) for shard, text in texts.items()}
        return {shard: last_tick(progress) for shard, progress in read.items() if progress is not None}

    def _some(self, shards: Sequence[int], start: int) -> Sequence[Mapping[str, Any]]:
        return self._read(shards[start : start + KEYS_PER_BATCH], consistent=False)

    def _remove(self, shard: int, text: str) -> None:
        """Remove a text that cannot be read, unless another tick has replaced it."""
        with translated("remove progress"), suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.update_item(
                TableName=self._table,
                Key=progress_key(shard),
                UpdateExpression="REMOVE #done",
                ConditionExpression="#done = :text",
                ExpressionAttributeNames={"#done": "done"},
                ExpressionAttributeValues={":text": {"S": text}},
            )

    def _read(self, shards: Sequence[int], *, consistent: bool = True) -> Sequence[Mapping[str, Any]]:
        if not shards:
            return []
        keys = [progress_key(shard) for shard in shards]
        with translated("read progress"):
            wanted: Any = {self._table: {"Keys": keys, "ConsistentRead": consistent}}
            reply = self._client.batch_get_item(RequestItems=wanted)
        if reply["UnprocessedKeys"]:
            # A tick that took a throttled shard for a new one would begin at the wrong bucket.
            raise Unavailable("read progress: some shards were not read")
        return reply["Responses"].get(self._table, [])

    def finish(
        self, lease: TickLease, before: Mapping[int, ShardProgress], after: Mapping[int, ShardProgress]
    ) -> frozenset[int]:
        first = lease.shards[0]
        new = [shard for shard in after if shard not in before]
        changed = [shard for shard in after if shard in before and (shard == first or after[shard] != before[shard])]
        overtaken = [shard for shard in new if not self._write_first(lease, shard, after[shard])]
        for start in range(0, len(changed), STATEMENTS_PER_BATCH):
            batch = changed[start : start + STATEMENTS_PER_BATCH]
            statements = [_replace(self._table, lease, shard, before[shard], after[shard]) for shard in batch]
            with translated("write progress"):
                answers: Sequence[Any] = self._client.batch_execute_statement(Statements=statements)["Responses"]
            # A throttled write counts as overtaken. The next tick reads a little more.
            overtaken += [shard for shard, answer in zip(batch, answers, strict=True) if answer.get("Error")]
        return frozenset(overtaken)

    def _write_first(self, lease: TickLease, shard: int, progress: ShardProgress) -> bool:
        """Write the first progress of a shard, which PartiQL cannot do if its item may exist. Return whether it was."""
        is_first = shard == lease.shards[0]
        names = {"#done": "done", **({"#tick_id": "tick_id", "#busy_until": "busy_until"} if is_first else {})}
        values: dict[str, Any] = {":done": {"S": progress_text(progress)}}
        try:
            with translated("write progress"):
                self._client.update_item(
                    TableName=self._table,
                    Key=progress_key(shard),
                    UpdateExpression="SET #done = :done" + (" REMOVE #tick_id, #busy_until" if is_first else ""),
                    ConditionExpression="attribute_not_exists(#done)" + (" AND #tick_id = :me" if is_first else ""),
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues={**values, **({":me": {"S": lease.tick_id}} if is_first else {})},
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True


def _refuse_newer(items: Sequence[Mapping[str, Any]]) -> None:
    """Raise Unavailable when a newer version wrote any of the items. Its own dispatchers do the ticks."""
    for item in items:
        refuse_newer_item(item, "the progress of a shard")


def _replace(table: str, lease: TickLease, shard: int, before: ShardProgress, after: ShardProgress) -> Any:
    """Return the statement that replaces the progress of a shard. That of the first shard also ends the tick."""
    is_first = shard == lease.shards[0]
    ends = ' REMOVE "tick_id" REMOVE "busy_until"' if is_first else ""
    mine = ' AND "tick_id"=?' if is_first else ""
    where = f'"{PARTITION_KEY}"=? AND "{SORT_KEY}"=? AND "done"=?{mine}'
    statement = f'UPDATE "{table}" SET "done"=?{ends} WHERE {where}'  # noqa: S608 - names only
    texts = [text_before(before), *([lease.tick_id] if is_first else [])]
    parameters = [{"S": progress_text(after)}, *progress_key(shard).values(), *({"S": text} for text in texts)]
    return {"Statement": statement, "Parameters": parameters}
