"""API tokens, as items of the table: one under the hash of the token, and its entry on the list."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from onthedot.engines.aws.dynamodb.formats import is_newer
from onthedot.engines.aws.dynamodb.keys import TOKENS_PARTITION, Key, listed_token_key, token_key
from onthedot.engines.aws.errors import translated
from onthedot.ports import Clock, Page, Principal, Token
from onthedot.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
_HASH: Final = "token_hash"


class DynamoTokenStore:
    """A `TokenStore` with two items for each token.

    The entry on the list is written first and deleted last. So a token that is found is always on the list, wherever
    a process stops. TTL deletes both items some time after the expiry.
    """

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def find(self, token_hash: str) -> Token | None:
        item = self._get(token_key(token_hash))
        return None if item is None else next(self._valid([item]), None)

    def add(self, token_hash: str, token: Token) -> None:
        about = _to_item(token)
        with translated("add token"):
            entry = {**listed_token_key(token.id), **about, _HASH: _text(token_hash)}
            self._client.put_item(TableName=self._table, Item=entry)
            self._client.put_item(TableName=self._table, Item={**token_key(token_hash), **about})

    def page(self, limit: int, cursor: str | None = None, tenant: str | None = None) -> Page[Token]:
        names, values = {"#pk": PARTITION_KEY}, {":tokens": _text(TOKENS_PARTITION)}
        more: dict[str, Any] = {}
        if cursor is not None:
            more["ExclusiveStartKey"] = listed_token_key(cursor)
        if tenant is not None:
            names["#tenant"], values[":tenant"] = "tenant", _text(tenant)
            more["FilterExpression"] = "#tenant = :tenant"
        with translated("list tokens"):
            reply = self._client.query(
                TableName=self._table,
                KeyConditionExpression="#pk = :tokens",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
                Limit=limit,
                ConsistentRead=True,
                **more,
            )
        last = reply.get("LastEvaluatedKey")
        return Page(list(self._valid(reply["Items"])), None if last is None else str(last[SORT_KEY]["S"]))

    def remove(self, token_id: str) -> bool:
        entry = self._get(listed_token_key(token_id))
        if entry is None:
            return False
        with translated("remove token"):
            self._client.delete_item(TableName=self._table, Key=token_key(entry[_HASH]["S"]))
            self._client.delete_item(TableName=self._table, Key=listed_token_key(token_id))
        return True

    def _get(self, key: Key) -> Mapping[str, Any] | None:
        with translated("find token"):
            return self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")

    def _valid(self, items: Iterable[Mapping[str, Any]]) -> Iterator[Token]:
        """Yield the tokens that have not expired. A token that cannot be read is not valid."""
        now = self._clock.now()
        for item in items:
            try:
                token = _to_token(item)
            except (KeyError, ValueError) as error:
                _LOG.error("token_unreadable", extra={"item": item[SORT_KEY]["S"], "why": repr(error)})
                continue
            if token.is_valid(now):
                yield token


def _to_item(token: Token) -> dict[str, Any]:
    who, expiry = token.principal, token.expires_at
    # The instant counts. TTL takes whole seconds, and must not be earlier.
    expiring = {} if expiry is None else {"valid_until": _number(expiry), TTL_ATTRIBUTE: _number(-(-expiry // 1000))}
    return {
        "id": _text(token.id),
        "tenant": _text(who.tenant),
        "role": _text(who.role),
        "name": _text(who.name),
        "token_created_at": _number(token.created_at),
        **expiring,
    }


def _to_token(item: Mapping[str, Any]) -> Token:
    until = item.get("valid_until")
    if is_newer(item):
        raise ValueError("a newer version wrote it")
    if until is None and TTL_ATTRIBUTE in item:
        raise ValueError("it expires, and the instant is missing")
    return Token(
        # A token that an earlier version made has no id. It is valid, and not on the list.
        item.get("id", {"S": ""})["S"],
        Principal(item["tenant"]["S"], item["role"]["S"], item["name"]["S"]),
        int(item["token_created_at"]["N"]),
        None if until is None else int(until["N"]),
    )


def _text(value: str) -> dict[str, str]:
    return {"S": value}


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}
