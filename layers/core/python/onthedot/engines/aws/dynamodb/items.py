"""Items in the table that also has the runs: each method is one request, or one for each page or batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from onthedot.core.errors import Unavailable
from onthedot.core.items import (
    EXPIRES_AT,
    AnyOf,
    Change,
    Check,
    Condition,
    Item,
    Scanned,
    Update,
    Value,
    Values,
    Written,
    applied,
    equals,
    has_expired,
    holds,
)
from onthedot.core.ports import Clock, Deadline, Page
from onthedot.core.schema import PARTITION_KEY, SORT_KEY, Key
from onthedot.engines.aws.dynamodb.keys import key_of, stored_key
from onthedot.engines.aws.dynamodb.moves import Attribute, to_attribute
from onthedot.engines.aws.errors import ErrorReply, translated
from onthedot.engines.aws.leftovers import batches, retry_leftovers

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

STATEMENTS_PER_BATCH: Final = 25
KEYS_PER_BATCH: Final = 100
WRITES_PER_BATCH: Final = 25
_PATIENCE_MS: Final = 5_000
_TRIES: Final = 3
_REFUSED: Final = "ConditionalCheckFailedException"
_SIGNS: Final = {"=": "=", "<": "<", ">": ">"}

Stored = Mapping[str, Any]
One = TypeVar("One")


class DynamoItems:
    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock) -> None:
        self._client: Any = client
        self._table = table
        self._clock = clock

    def get(self, key: Key) -> Item | None:
        with translated(f"read {_kind(key)}"):
            reply = self._client.get_item(TableName=self._table, Key=stored_key(key), ConsistentRead=True)
        return self._live(reply.get("Item"))

    def get_many(self, keys: Sequence[Key], *, may_lag: bool = False) -> Sequence[Item]:
        found: list[Stored] = []
        for batch in batches(keys, KEYS_PER_BATCH):
            wanted = {self._table: {"Keys": list(map(stored_key, batch)), "ConsistentRead": not may_lag}}
            with translated(f"read {_kind(batch[0])}"):
                reply = self._client.batch_get_item(RequestItems=wanted)
            if reply["UnprocessedKeys"]:
                # An item that was not read must not look like one that is missing.
                raise Unavailable(f"read {_kind(batch[0])}: some items were not read")
            found += reply["Responses"].get(self._table, [])
        return self._all_live(found)

    def query(
        self,
        partition: str,
        *,
        begins: str = "",
        span: tuple[str, str] | None = None,
        after: str | None = None,
        limit: int | None = None,
        may_lag: bool = False,
    ) -> Page[Item]:
        tests, texts = ["#pk = :pk"], {":pk": partition}
        if begins:
            tests.append("begins_with(#sk, :begins)")
            texts[":begins"] = begins
        elif span is not None:
            tests.append("#sk BETWEEN :first AND :last")
            texts |= {":first": span[0], ":last": span[1]}
        names = {"#pk": PARTITION_KEY, **({"#sk": SORT_KEY} if len(tests) > 1 else {})}
        more: dict[str, Any] = {} if limit is None else {"Limit": limit}
        if after is not None:
            more["ExclusiveStartKey"] = stored_key(Key(partition, after))
        with translated(f"read {_kind(Key(partition, ''))}"):
            reply = self._client.query(
                TableName=self._table,
                KeyConditionExpression=" AND ".join(tests),
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={name: {"S": text} for name, text in texts.items()},
                ConsistentRead=not may_lag,
                **more,
            )
        last = reply.get("LastEvaluatedKey")
        return Page(self._all_live(reply["Items"]), None if last is None else str(last[SORT_KEY]["S"]))

    def put(self, key: Key, values: Values, condition: Condition = ()) -> Written:
        names = _Names(self._clock.now())
        asked = names.arguments(condition=names.tests(condition))
        try:
            with translated(f"put {_kind(key)}"):
                self._client.put_item(
                    TableName=self._table,
                    Item=_stored(key, values),
                    **({**asked, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if condition else {}),
                )
        except ErrorReply as error:
            # Not every implementation of DynamoDB returns the item with the refusal.
            return Written(done=False, item=self._refusing(error) or self.get(key))
        return Written(done=True, item=Item(key, values))

    def put_many(self, items: Sequence[Item]) -> None:
        self._write_batches([{"PutRequest": {"Item": _stored(*item)}} for item in items])

    def update(self, key: Key, change: Change, condition: Condition = ()) -> Written:
        for _ in range(_TRIES):
            try:
                return Written(done=True, item=self._update(key, change, condition))
            except ErrorReply as error:
                refusing = self._refused(error)
            item = None if refusing is None else _item(refusing)
            if item is None or not has_expired(item.values, self._clock.now()):
                return Written(done=False, item=item)
            if not holds(condition, None):
                return Written(done=False, item=None)
            if (written := self._replace_expired(item, change)) is not None:
                return written
        raise Unavailable(f"change {_kind(key)}: too many writers of an item that has expired")

    def _replace_expired(self, item: Item, change: Change) -> Written | None:
        """Write what the change makes of nothing. None: another process did so meanwhile."""
        values = applied(change, {})
        fresh = Change(sets={**dict.fromkeys(item.values, None), **values})
        try:
            after = self._update(item.key, fresh, [equals(EXPIRES_AT, item.values[EXPIRES_AT])], guarded=False)
        except ErrorReply as error:
            self._refused(error)
            return None
        return Written(done=True, item=after)

    def _update(self, key: Key, change: Change, condition: Condition, *, guarded: bool = True) -> Item:
        names = _Names(self._clock.now())
        tests = names.tests(condition)
        if guarded and EXPIRES_AT in change.sets:
            # TTL deletes an item some time after its expiry.
            tests.append(names.not_expired())
        expression = names.changes(change)
        with translated(f"change {_kind(key)}"):
            reply = self._client.update_item(
                TableName=self._table,
                Key=stored_key(key),
                UpdateExpression=expression,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **names.arguments(condition=tests),
            )
        return _item(reply["Attributes"])

    def update_many(self, updates: Sequence[Update]) -> Sequence[bool]:
        done: list[bool] = []
        for batch in batches(updates, STATEMENTS_PER_BATCH):
            statements = [_statement(self._table, *update) for update in batch]
            with translated(f"change {_kind(batch[0].key)}"):
                answers = self._client.batch_execute_statement(Statements=statements)["Responses"]
            done += [not answer.get("Error") for answer in answers]
        return done

    def delete(self, key: Key) -> None:
        with translated(f"delete {_kind(key)}"):
            self._client.delete_item(TableName=self._table, Key=stored_key(key))

    def delete_many(self, keys: Sequence[Key]) -> None:
        self._write_batches([{"DeleteRequest": {"Key": stored_key(key)}} for key in keys])

    def scan(self, limit: int, after: Key | None = None, only: Sequence[str] = ()) -> Scanned:
        names = {f"#n{number}": name for number, name in enumerate((PARTITION_KEY, SORT_KEY, *only))}
        shown = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names} if only else {}
        start = {} if after is None else {"ExclusiveStartKey": stored_key(after)}
        with translated("read all items"):
            reply = self._client.scan(TableName=self._table, ConsistentRead=True, Limit=limit, **shown, **start)
        last = reply.get("LastEvaluatedKey")
        return Scanned([_item(stored) for stored in reply["Items"]], None if last is None else key_of(last))

    def about(self) -> int | None:
        """Return the number of items that the table had some hours ago. None: it is not known."""
        with translated("count all items"):
            table = self._client.describe_table(TableName=self._table)["Table"]
        # AWS renews the number about every six hours. Before the first time it is 0.
        return table.get("ItemCount") or None

    def _live(self, stored: Stored | None) -> Item | None:
        return next(iter(self._all_live([] if stored is None else [stored])), None)

    def _all_live(self, stored: Sequence[Stored]) -> list[Item]:
        now = self._clock.now()
        return [item for item in map(_item, stored) if not has_expired(item.values, now)]

    def _refusing(self, error: ErrorReply) -> Item | None:
        return self._live(self._refused(error))

    @staticmethod
    def _refused(error: ErrorReply) -> Stored | None:
        """Return the item as it is, if it refused a write. Raise any other error again."""
        if error.code != _REFUSED:
            raise error
        found: Any = error.response.get("Item")
        return found or None

    def _write_batches(self, writes: Sequence[Stored]) -> None:
        def attempt(pending: Sequence[Stored]) -> Sequence[Stored]:
            with translated("write items"):
                reply = self._client.batch_write_item(RequestItems={self._table: pending})
            left: Sequence[Stored] = reply.get("UnprocessedItems", {}).get(self._table, [])
            return left

        for batch in batches(writes, WRITES_PER_BATCH):
            deadline = Deadline.after(self._clock.now(), _PATIENCE_MS)
            if left := retry_leftovers(batch, attempt, self._clock, deadline):
                raise Unavailable(f"{len(left)} of {len(batch)} items could not be written")


class _Names:
    """The expressions of one request, with their names and values: many plain words are reserved in DynamoDB."""

    def __init__(self, now: int) -> None:
        self._now = now // 1000
        self._names: dict[str, str] = {}
        self._values: dict[str, Attribute] = {}

    def tests(self, condition: Condition) -> list[str]:
        return [
            f"({' OR '.join(map(self._test, check.checks))})" if isinstance(check, AnyOf) else self._test(check)
            for check in condition
        ]

    def not_expired(self) -> str:
        expiry = self._name(EXPIRES_AT)
        return f"(attribute_not_exists({expiry}) OR {expiry} > {self._value(self._now)})"

    def changes(self, change: Change) -> str:
        clauses = {
            "SET": [f"{self._name(n)} = {self._value(v, f'to_{n}')}" for n, v in change.sets.items() if v is not None],
            "REMOVE": [self._name(name) for name, value in change.sets.items() if value is None],
            "ADD": [f"{self._name(n)} {self._value(v, f'add_{n}')}" for n, v in change.adds.items()],
            "DELETE": [f"{self._name(n)} {self._value(v, f'del_{n}')}" for n, v in change.takes.items()],
        }
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def arguments(self, *, condition: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {"ConditionExpression": " AND ".join(condition)} if condition else {}
        if self._names:
            found["ExpressionAttributeNames"] = self._names
        if self._values:
            found["ExpressionAttributeValues"] = self._values
        return found

    def _test(self, check: Check) -> str:
        kind, name, wanted = check
        if kind == "missing":
            expired = f"{self._name(EXPIRES_AT)} <= {self._value(self._now)}"
            return f"(attribute_not_exists({self._name(PARTITION_KEY)}) OR {expired})"
        if kind == "present":
            return f"attribute_exists({self._name(PARTITION_KEY)}) AND {self.not_expired()}"
        if kind in ("absent", "exists"):
            return f"attribute_{'not_exists' if kind == 'absent' else 'exists'}({self._name(name)})"
        of, value = self._name(name), self._value(wanted)
        if kind == "fewer":
            return f"(attribute_not_exists({of}) OR size({of}) < {value})"
        return f"contains({of}, {value})" if kind == "contains" else f"{of} {_SIGNS[kind]} {value}"

    def _name(self, name: str) -> str:
        self._names[f"#{name}"] = name
        return f"#{name}"

    def _value(self, value: Value, name: str = "") -> str:
        place = f":{name or f'v{len(self._values)}'}"
        self._values[place] = to_attribute(value)
        return place


def _statement(table: str, key: Key, change: Change, condition: Condition) -> dict[str, Any]:
    if change.adds or change.takes:
        raise ValueError("many updates at once only set and remove values")
    parameters: list[Attribute] = []

    def given(value: Value) -> str:
        parameters.append(to_attribute(value))
        return "?"

    sets = [f'SET "{name}"={given(value)}' for name, value in change.sets.items() if value is not None]
    removes = [f'REMOVE "{name}"' for name, value in change.sets.items() if value is None]
    tests = [f'"{PARTITION_KEY}"={given(key.partition)}', f'"{SORT_KEY}"={given(key.sort)}']
    tests += [_statement_test(check, given) for check in condition]
    text = f'UPDATE "{table}" {" ".join([*sets, *removes])} WHERE {" AND ".join(tests)}'
    return {"Statement": text, "Parameters": parameters}


def _statement_test(check: Check | AnyOf, given: Callable[[Value], str]) -> str:
    if isinstance(check, AnyOf) or check.kind not in ("=", "absent"):
        raise ValueError("many updates at once expect values, or none")
    return f'"{check.name}" IS MISSING' if check.kind == "absent" else f'"{check.name}"={given(check.value)}'


def _kind(key: Key) -> str:
    """Return what the key is of, for messages. The rest of a partition may be a secret."""
    return key.partition.partition("#")[0]


def _stored(key: Key, values: Values) -> dict[str, Attribute]:
    return {**stored_key(key), **{name: to_attribute(value) for name, value in values.items()}}


def _item(stored: Stored) -> Item:
    return Item(key_of(stored), dict(_values(stored)))


def _values(stored: Stored) -> Iterator[tuple[str, Value]]:
    """Yield the values. A null is left out, and a value of a type that no version writes becomes text."""
    for name, attribute in stored.items():
        ((kind, value),) = attribute.items()
        if name not in (PARTITION_KEY, SORT_KEY) and kind != "NULL":
            yield name, _value(kind, value)


def _value(kind: str, value: Any) -> Value:
    if kind == "SS":
        return frozenset(value)
    try:
        return int(value) if kind == "N" else value if kind == "S" else repr(value)
    except ValueError:
        return str(value)
