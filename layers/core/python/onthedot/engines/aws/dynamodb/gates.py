"""Gates in DynamoDB: an item with the limits of each gate, and an item for each page of the state of a gate or key.

Every write is one `UpdateItem`. Holders are a set of text, to which several workers can add at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot import registry_codec
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange, GateState, Holder
from onthedot.domain.runs.records import Priority
from onthedot.engines.aws.dynamodb.formats import FORMAT, is_newer, refuse_newer_item
from onthedot.engines.aws.dynamodb.keys import (
    gate_key,
    gate_limits_key,
    gate_name_of,
    gate_partition,
    gates_partition,
)
from onthedot.engines.aws.dynamodb.moves import Attribute, to_attribute
from onthedot.engines.aws.errors import error_code, translated
from onthedot.engines.gate_limits import gate_limits_or_stop
from onthedot.engines.gate_states import expires_at
from onthedot.ports import Clock, GateAnswer, Page
from onthedot.schema import DUE, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LIMITS: Final = "limits"
_CONDITION_FAILED: Final = "ConditionalCheckFailedException"
_INTEGERS: Final = {
    "capacity": "c",
    "fire_at": DUE.sort_key,
    "flagged_at": "f",
    "parts": "n",
    "next_start": "s",
    "next_instant": "i",
}
ATTRIBUTES: Final = {"holders": "h", "slot": DUE.partition_key, "priorities": "p", **_INTEGERS}
"""The attribute of each field of a state. The names are short, so that 8 holders and the rest are less than 1 KB."""
_LETTERS: Final = {priority.value[0]: priority for priority in Priority}


class DynamoGateStore:
    """A `GateStore` on the table. A flagged gate is in the index of due runs, because it has a slot and a fire time."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def find(self, tenant: str, name: str) -> GateLimits | None:
        with translated("find gate"):
            reply = self._client.get_item(TableName=self._table, Key=gate_limits_key(tenant, name), ConsistentRead=True)
        item = reply.get("Item")
        return None if item is None else _limits(tenant, item)[1]

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        key = gate_limits_key(tenant, name)
        with translated("put gate"):
            if limits is None:
                self._client.delete_item(TableName=self._table, Key=key)
            else:
                item = {**key, _LIMITS: {"S": registry_codec.limits_text(limits)}}
                self._client.put_item(TableName=self._table, Item=item)

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        start = {} if cursor is None else {"ExclusiveStartKey": gate_limits_key(tenant, cursor)}
        # One item more than the page shows whether there is another page.
        reply = self._query(gates_partition(tenant), Limit=limit + 1, **start)
        gates = [_limits(tenant, item) for item in reply["Items"][:limit]]
        more = len(reply["Items"]) > limit or "LastEvaluatedKey" in reply
        return Page(gates, gates[-1][0] if gates and more else None)

    def read(self, gate: GateId) -> GateState:
        return self._read(gate, 0)

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        pages = {int(item[SORT_KEY]["S"]): _state(item).holders for item in self._items(gate_partition(gate.text))}
        return [pages.get(page, frozenset()) for page in range(max(pages, default=0) + 1)]

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        return self.take_all(gate, page, [holder], room=room, newcomer=newcomer, capacity=capacity)

    def take_all(
        self, gate: GateId, page: int, holders: Sequence[Holder], *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        """Add all these holders to a page, or none of them."""
        wanted = frozenset(holders)
        if room < len(wanted):  # the condition lets the first holders in
            state = self._read(gate, page)
            return GateAnswer(wanted <= state.holders, state)
        update = _Update()
        of = update.name("holders")
        fits = update.value(room - len(wanted) + 1)
        update.tests.append(f"(attribute_not_exists({of}) OR size({of}) < {fits})")
        if page == 0:
            update.expect("capacity", capacity)
            if newcomer:
                update.expect("slot", None)
        update.add("holders", frozenset(holder.text for holder in wanted))
        answer = self._update("take a place", gate, page, update)
        return GateAnswer(answer.done or wanted <= answer.state.holders, answer.state)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        return self.give_back_all(gate, page, [holder])

    def give_back_all(self, gate: GateId, page: int, holders: Sequence[Holder]) -> GateState:
        """Remove these holders, and return the state after it."""
        update = _Update()
        texts = frozenset(holder.text for holder in holders)
        update.clauses["DELETE"] = [f"{update.name('holders')} {update.value(texts)}"]
        return self._update("give a place back", gate, page, update).state

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        return self._update("change a gate", gate, 0, _update_of(change))

    def _update(self, action: str, gate: GateId, page: int, update: "_Update") -> GateAnswer:
        # Each write keeps the item for some weeks more, also one that gives a place back at a gate without an item.
        update.names |= {"#ttl": TTL_ATTRIBUTE, "#format": FORMAT}
        update.tests.append("attribute_not_exists(#format)")
        update.clauses["SET"].append(f"#ttl = {update.value(expires_at(self._clock.now()))}")
        try:
            with translated(action):
                reply = self._client.update_item(
                    TableName=self._table,
                    Key=gate_key(gate.text, page),
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **update.arguments(),
                )
        except ClientError as error:
            if error_code(error) != _CONDITION_FAILED:
                raise
            refusing: Any = error.response.get("Item")
            return GateAnswer(done=False, state=_state(refusing) if refusing else GateState())
        return GateAnswer(done=True, state=_state(reply["Attributes"]))

    def _read(self, gate: GateId, page: int) -> GateState:
        with translated("read a gate"):
            reply = self._client.get_item(TableName=self._table, Key=gate_key(gate.text, page), ConsistentRead=True)
        return _state(reply.get("Item", {}))

    def _items(self, partition: str) -> Iterator[Mapping[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            reply = self._query(partition, **start)
            yield from reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def _query(self, partition: str, **more: Any) -> Mapping[str, Any]:
        with translated("read gates"):
            return self._client.query(
                TableName=self._table,
                KeyConditionExpression="#pk = :partition",
                ExpressionAttributeNames={"#pk": PARTITION_KEY},
                ExpressionAttributeValues={":partition": {"S": partition}},
                ConsistentRead=True,
                **more,
            )


@dataclass
class _Update:
    """The parts of one conditional `UpdateItem` on a state."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Attribute] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)
    clauses: dict[str, list[str]] = field(default_factory=lambda: {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []})

    def name(self, of: str) -> str:
        self.names[f"#{of}"] = ATTRIBUTES[of]
        return f"#{of}"

    def value(self, content: str | int | frozenset[str]) -> str:
        name = f":v{len(self.values)}"
        self.values[name] = to_attribute(content)
        return name

    def expect(self, of: str, content: Any) -> None:
        self.tests.append(
            f"attribute_not_exists({self.name(of)})" if content is None else f"{self.name(of)} = {self.value(content)}"
        )

    def add(self, of: str, content: frozenset[str]) -> None:
        self.clauses["ADD"].append(f"{self.name(of)} {self.value(content)}")

    def arguments(self) -> dict[str, Any]:
        condition = {"ConditionExpression": " AND ".join(self.tests)} if self.tests else {}
        return {
            "UpdateExpression": " ".join(f"{verb} {', '.join(parts)}" for verb, parts in self.clauses.items() if parts),
            "ExpressionAttributeNames": self.names,
            "ExpressionAttributeValues": self.values,
            **condition,
        }


def _update_of(change: GateChange) -> _Update:
    update = _Update()
    for name, content in change.equals.items():
        update.expect(name, content)
    update.tests += [f"{update.name(name)} > {update.value(bound)}" for name, bound in change.above.items()]
    # DynamoDB rejects a sum with a missing number as a faulty request.
    update.tests += [f"attribute_exists({update.name(name)})" for name in change.increments]
    for name, content in change.sets.items():
        if content is None:
            update.clauses["REMOVE"].append(update.name(name))
        else:
            update.clauses["SET"].append(f"{update.name(name)} = {update.value(content)}")
    for name, number in change.increments.items():
        update.clauses["SET"].append(f"{update.name(name)} = {update.name(name)} + {update.value(number)}")
    letters = frozenset(priority.value[0] for priority in change.priorities)
    if change.forget_priorities and letters:
        update.clauses["SET"].append(f"{update.name('priorities')} = {update.value(letters)}")
    elif change.forget_priorities:
        update.clauses["REMOVE"].append(update.name("priorities"))
    elif letters:
        update.add("priorities", letters)
    return update


def _state(item: Mapping[str, Any]) -> GateState:
    """Return the state from its item. What cannot be read counts as missing, except a holder, which has its place.

    Raise Unavailable when a newer version wrote it.
    """
    refuse_newer_item(item, "the gate")
    integers = {name: _read_value(item, name, "N", int) for name in _INTEGERS}
    holders: Sequence[str] = _read_value(item, "holders", "SS", list) or ()
    letters: Sequence[str] = _read_value(item, "priorities", "SS", list) or ()
    return GateState(
        **integers,
        holders=frozenset(map(Holder.read, holders)),
        slot=_read_value(item, "slot", "S", str),
        priorities=frozenset(_LETTERS[letter] for letter in letters if letter in _LETTERS),
    )


def _read_value(item: Mapping[str, Any], name: str, kind: str, read: Callable[[Any], Any]) -> Any:
    attribute = item.get(ATTRIBUTES[name], {})
    try:
        return read(attribute[kind]) if kind in attribute else None
    except ValueError:
        return None


def _limits(tenant: str, item: Mapping[str, Any]) -> tuple[str, GateLimits]:
    name = gate_name_of(item)
    return name, gate_limits_or_stop(tenant, name, None if is_newer(item) else item.get(_LIMITS, {}).get("S"))
