"""The progress of the claim and sweep passes, as items of the table: one for each shard."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.pass_progress import ShardProgress
from onthedot.engines.aws.dynamodb.keys import progress_key, progress_shard
from onthedot.engines.aws.errors import error_code, translated
from onthedot.engines.progress_text import progress_from, progress_text
from onthedot.ports import TickLease
from onthedot.schema import PARTITION_KEY, SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_REFUSALS: Final = frozenset({"ConditionalCheckFailed", "DuplicateItem"})
STATEMENTS_PER_BATCH: Final = 25


class DynamoProgressStore:
    """A `ProgressStore` with three requests for each tick, however many shards its group has (up to 25).

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
                    ConditionExpression="attribute_not_exists(#busy_until) OR #busy_until <= :now OR #tick_id = :tick_id",
                    ExpressionAttributeNames={"#tick_id": "tick_id", "#busy_until": "busy_until"},
                    ExpressionAttributeValues={
                        ":tick_id": {"S": lease.tick_id},
                        ":until": {"N": str(lease.until)},
                        ":now": {"N": str(now)},
                    },
                    ReturnValues="ALL_NEW",
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return None
        return _progress([reply["Attributes"], *self._read(lease.shards[1:])])

    def _read(self, shards: Sequence[int]) -> Sequence[Mapping[str, Any]]:
        if not shards:
            return []
        keys = [progress_key(shard) for shard in shards]
        with translated("read progress"):
            reply = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys, "ConsistentRead": True}})
        if reply["UnprocessedKeys"]:
            # A tick that took a throttled shard for a new one would begin at the wrong bucket.
            raise Unavailable("read progress: some shards were not read")
        return reply["Responses"].get(self._table, [])

    def finish(
        self, lease: TickLease, before: Mapping[int, ShardProgress], after: Mapping[int, ShardProgress]
    ) -> frozenset[int]:
        first = lease.shards[0]
        shards = [shard for shard in lease.shards if shard == first or after[shard] != before.get(shard)]
        statements = [
            _release(self._table, first, before.get(first), after[first])
            if shard == first
            else _replace(self._table, shard, before.get(shard), after[shard])
            for shard in shards
        ]
        overtaken: set[int] = set()
        for start in range(0, len(shards), STATEMENTS_PER_BATCH):
            with translated("write progress"):
                reply = self._client.batch_execute_statement(
                    Statements=statements[start : start + STATEMENTS_PER_BATCH]
                )
            answers: Sequence[Mapping[str, Any]] = reply["Responses"]
            overtaken |= {shard for shard, answer in zip(shards[start:], answers, strict=False) if _is_refused(answer)}
        return frozenset(overtaken)


def _is_refused(answer: Mapping[str, Any]) -> bool:
    """Return whether another tick has changed the progress. A throttled write is refused too: the next tick does it."""
    return answer.get("Error") is not None


def _progress(items: Sequence[Mapping[str, Any]]) -> dict[int, ShardProgress]:
    return {progress_shard(item): progress_from(item["done"]["S"]) for item in items if "done" in item}


def _replace(table: str, shard: int, before: ShardProgress | None, after: ShardProgress) -> Any:
    key, text = progress_key(shard), {"S": progress_text(after)}
    if before is None:
        fields = {**key, "done": text}
        names = ",".join(f"'{name}':?" for name in fields)
        return {"Statement": f'INSERT INTO "{table}" VALUE {{{names}}}', "Parameters": list(fields.values())}
    statement = f'UPDATE "{table}" SET "done"=? WHERE "{PARTITION_KEY}"=? AND "{SORT_KEY}"=? AND "done"=?'
    return {"Statement": statement, "Parameters": [text, *key.values(), {"S": progress_text(before)}]}


def _release(table: str, shard: int, before: ShardProgress | None, after: ShardProgress) -> Any:
    """Return the statement that also ends the tick. The item exists since the tick began."""
    key = progress_key(shard)
    changes = f'UPDATE "{table}" SET "done"=? REMOVE "tick_id" REMOVE "busy_until"'
    same = '"done" IS MISSING' if before is None else '"done"=?'
    return {
        "Statement": f'{changes} WHERE "{PARTITION_KEY}"=? AND "{SORT_KEY}"=? AND {same}',
        "Parameters": [
            {"S": progress_text(after)},
            *key.values(),
            *([] if before is None else [{"S": progress_text(before)}]),
        ],
    }
