"""Everything that an export has, in the table: a scan, in which the key of an item says what it is."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.gates.names import GateId
from onthedot.domain.runs.records import INTEGERS
from onthedot.domain.transfer.entries import Entry, EntryKind, StoredEntry
from onthedot.engines.aws.dynamodb.gates import ATTRIBUTES
from onthedot.engines.aws.dynamodb.keys import (
    EVENT_PREFIX,
    GATE_PREFIX,
    GATES_PREFIX,
    LIMITS_PARTITION,
    SIGNING_PREFIX,
    TOKEN_PREFIX,
    gate_name_of,
    gate_of,
    job_id_of,
    key_of_event,
    may_be_record,
    run_id_of,
)
from onthedot.engines.aws.dynamodb.limits import TENANT_PREFIX
from onthedot.engines.aws.dynamodb.moves import from_item
from onthedot.engines.aws.errors import error_code, translated
from onthedot.ports import StoredPage
from onthedot.schema import LABEL, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Item = Mapping[str, Any]
_KEYS: Final = (PARTITION_KEY, SORT_KEY)
_NOT_EXPORTED: Final = frozenset({*_KEYS, LABEL})
"""Attributes of a record's item that are no fields of the record. The label follows from the definition."""
_FIRST_PAGE: Final = "0"


class DynamoStoredEntries:
    """A `StoredEntries` that scans the table. A cursor is the key of the last item that was read."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def page(self, limit: int, cursor: str | None = None) -> StoredPage:
        start: dict[str, Any] = {} if cursor is None else {"ExclusiveStartKey": json.loads(cursor)}
        with translated("read all items"):
            reply = self._client.scan(TableName=self._table, ConsistentRead=True, Limit=limit, **start)
        entries = [StoredEntry(entry, _position(item)) for item in reply["Items"] if (entry := _entry(item))]
        last = reply.get("LastEvaluatedKey")
        return StoredPage(entries, None if last is None else json.dumps(last), reply["ScannedCount"])

    def about(self) -> int | None:
        """Return the number of items that the table had some hours ago. None: it is not known."""
        with translated("count all items"):
            table = self._client.describe_table(TableName=self._table)["Table"]
        # AWS renews the number about every six hours. Before the first time it is 0.
        return table.get("ItemCount") or None

    def remember_event(self, tenant: str, digest: str, time: int, expires_at: int) -> bool:
        numbers = {"event_time": {"N": str(time)}, TTL_ATTRIBUTE: {"N": str(expires_at)}}
        try:
            with translated("remember an event"):
                self._client.put_item(
                    TableName=self._table,
                    Item={**key_of_event(tenant, digest), **numbers},
                    ConditionExpression="attribute_not_exists(#pk)",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY},
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True


def _position(item: Item) -> str:
    return json.dumps({name: item[name] for name in _KEYS})


def _entry(item: Item) -> Entry | None:
    """Return the entry of an item. None: an export does not have it, such as progress, workers and patterns."""
    partition = _text(item, PARTITION_KEY)
    if may_be_record(partition):
        return _record(item)
    if partition == LIMITS_PARTITION:
        return _limits(item)
    return next((read(item) for prefix, read in _BY_PREFIX.items() if partition.startswith(prefix)), None)


def _record(item: Item) -> Entry:
    plain = {name: value for name, value in from_item(item).items() if name not in _NOT_EXPORTED}
    numbers = {name: int(plain[name]) for name in INTEGERS & plain.keys() if str(plain[name]).isdecimal()}
    whole = {**plain, **numbers, "run_id": run_id_of(item), "job_id": job_id_of(item)}
    return Entry(EntryKind.RECORD, run_id_of(item), {name: _plain(value) for name, value in whole.items()})


def _plain(value: Any) -> Any:
    """Return a value that JSON can carry. Sets of text are lists here already, and no record has any other type."""
    return value if isinstance(value, str | int | bool | list) else repr(value)


def _limits(item: Item) -> Entry | None:
    # Earlier versions stored marks of throttled tenants beside the items that have this prefix.
    name = _text(item, SORT_KEY)
    if not name.startswith(TENANT_PREFIX):
        return None
    tenant = name.removeprefix(TENANT_PREFIX)
    return Entry(EntryKind.LIMITS, tenant, {"tenant": tenant, "limits": _text(item, "limits")})


def _gate(item: Item) -> Entry:
    tenant, name = _text(item, PARTITION_KEY).removeprefix(GATES_PREFIX), gate_name_of(item)
    return Entry(EntryKind.GATE, f"{tenant}/{name}", {"tenant": tenant, "name": name, "limits": _text(item, "limits")})


def _rate(item: Item) -> Entry | None:
    gate, started = gate_of(item), _number(item, ATTRIBUTES["next_start"])
    if gate is None or started is None or _text(item, SORT_KEY) != _FIRST_PAGE:
        return None
    return Entry(EntryKind.RATE, gate, {"gate": gate, "next_start": started})


def _event(item: Item) -> Entry:
    # The text of a gate is made of a tenant and a name in the same way.
    event = GateId.read(_text(item, PARTITION_KEY).removeprefix(EVENT_PREFIX))
    about = {"tenant": event.tenant, "digest": event.name}
    times = {"time": _number(item, "event_time"), "expires_at": _number(item, TTL_ATTRIBUTE)}
    return Entry(EntryKind.EVENT, event.name, {**about, **times})


def _signing(item: Item) -> Entry:
    tenant = _text(item, PARTITION_KEY).removeprefix(SIGNING_PREFIX)
    return Entry(EntryKind.SIGNING, tenant, {"tenant": tenant, "keys": _text(item, "keys")})


def _token(item: Item) -> Entry:
    token_hash = _text(item, PARTITION_KEY).removeprefix(TOKEN_PREFIX)
    about = {name: _text(item, name) for name in ("tenant", "role", "name")}
    # A token that an earlier version made has no id.
    about |= {"token_hash": token_hash, "id": _text(item, "id") or f"tok_{token_hash[:12]}"}
    expiry = _number(item, "valid_until")
    times = {"created_at": _number(item, "token_created_at"), **({} if expiry is None else {"expires_at": expiry})}
    return Entry(EntryKind.TOKEN, about["id"], {**about, **times})


_BY_PREFIX: Final[Mapping[str, Callable[[Item], Entry | None]]] = {
    GATES_PREFIX: _gate,
    GATE_PREFIX: _rate,
    EVENT_PREFIX: _event,
    SIGNING_PREFIX: _signing,
    TOKEN_PREFIX: _token,
}


def _text(item: Item, name: str) -> str:
    return str(item.get(name, {}).get("S", ""))


def _number(item: Item, name: str) -> int | None:
    text = item.get(name, {}).get("N")
    return None if text is None else int(text)
