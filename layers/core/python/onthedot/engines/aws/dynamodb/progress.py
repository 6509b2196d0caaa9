"""The progress of the claim and sweep passes, as items of the table."""

import json
from typing import TYPE_CHECKING

from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.slots import SlotKind, bucket_of
from onthedot.engines.aws.dynamodb.keys import progress_key
from onthedot.engines.aws.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoProgressStore:
    """A `ProgressStore` with one item for each shard group, and one write for each tick."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read_progress(self, group: int) -> PassProgress:
        """Return the stored progress. A group that has none begins at the minute in which the table was created."""
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
