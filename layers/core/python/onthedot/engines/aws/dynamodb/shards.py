"""The history of the number of shards, as one item of the table."""

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from onthedot.domain import shard_history
from onthedot.domain.shard_history import ShardHistory
from onthedot.engines.aws.dynamodb.formats import refuse_newer_item
from onthedot.engines.aws.dynamodb.keys import shards_key
from onthedot.engines.aws.errors import error_code, translated
from onthedot.ports import Page
from onthedot.schema import DUE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoShardStore:
    """A `ShardStore` with one item. It is updated and not put: workers may put nothing but their own items."""

    def __init__(self, client: "DynamoDBClient", table: str, page_size: int | None = None) -> None:
        self._client = client
        self._table = table
        self._limit: dict[str, Any] = {} if page_size is None else {"Limit": page_size}

    def read(self) -> ShardHistory:
        return _history(self._read_text())

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        # The condition is on the stored text. Another version may write the same history as another text.
        before = self._read_text()
        if _history(before) != seen:
            return False
        texts = {":steps": shard_history.to_text(history), **({":before": before} if before else {})}
        try:
            with translated("replace shards"):
                self._client.update_item(
                    TableName=self._table,
                    Key=shards_key(),
                    UpdateExpression="SET #steps = :steps",
                    ConditionExpression="#steps = :before" if before else "attribute_not_exists(#steps)",
                    ExpressionAttributeNames={"#steps": "steps"},
                    ExpressionAttributeValues={name: {"S": text} for name, text in texts.items()},
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def slots(self, cursor: str | None = None) -> Page[str]:
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(cursor)} if cursor else {}
        with translated("slots"):
            reply = self._client.scan(
                TableName=self._table,
                IndexName=DUE.name,
                ProjectionExpression="#slot",
                ExpressionAttributeNames={"#slot": DUE.partition_key},
                **self._limit,
                **start,
            )
        last = reply.get("LastEvaluatedKey")
        return Page([item[DUE.partition_key]["S"] for item in reply["Items"]], json.dumps(last) if last else None)

    def _read_text(self) -> str | None:
        with translated("read shards"):
            reply = self._client.get_item(TableName=self._table, Key=shards_key(), ConsistentRead=True)
        if "Item" not in reply:
            return None
        refuse_newer_item(reply["Item"], "the number of shards")
        return reply["Item"]["steps"]["S"]


def _history(text: str | None) -> ShardHistory:
    return shard_history.from_text(text) if text else ShardHistory()
