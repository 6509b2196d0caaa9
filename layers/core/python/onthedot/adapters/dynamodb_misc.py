"""The table's other items: progress of the passes, and tokens."""

import json
from typing import TYPE_CHECKING

from onthedot.adapters.aws_errors import translated
from onthedot.adapters.dynamodb_keys import progress_key, token_key
from onthedot.domain.progress import Progress
from onthedot.domain.slots import SlotKind, bucket_of
from onthedot.ports import Principal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoProgressStore:
    """`ProgressStore`: one item for each shard group, one write for each tick."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read_progress(self, group: int) -> Progress:
        with translated("read_progress"):
            reply = self._client.get_item(TableName=self._table, Key=progress_key(group), ConsistentRead=True)
            if "Item" not in reply:
                table = self._client.describe_table(TableName=self._table)["Table"]
                return Progress(born=bucket_of(int(table["CreationDateTime"].timestamp() * 1000)))
        done = json.loads(reply["Item"]["done"]["S"])
        return Progress({SlotKind(k): {int(s): b for s, b in shards.items()} for k, shards in done.items()})

    def write_progress(self, group: int, progress: Progress) -> None:
        text = json.dumps({kind.value: dict(shards) for kind, shards in progress.done.items()})
        with translated("write_progress"):
            self._client.put_item(TableName=self._table, Item={**progress_key(group), "done": {"S": text}})


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
