"""API tokens, as items of the table."""

from typing import TYPE_CHECKING

from onthedot.engines.aws.dynamodb.keys import token_key
from onthedot.engines.aws.errors import translated
from onthedot.ports import Principal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoTokenStore:
    """A `TokenStore` with one item for each token, under the hash of the token."""

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
