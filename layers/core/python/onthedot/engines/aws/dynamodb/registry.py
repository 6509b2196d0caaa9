"""Pull workers, and the keys that sign the calls of tenants, as items of the table."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot import registry_codec
from onthedot.domain.errors import Unavailable
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import MOST_ASSIGNED, Load, WorkerRecord, expiry_of
from onthedot.engines.aws.dynamodb.formats import refuse_newer_item
from onthedot.engines.aws.dynamodb.keys import WORKERS_PARTITION, signing_key, worker_key
from onthedot.engines.aws.errors import error_code, translated
from onthedot.ports import Clock
from onthedot.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
_REFUSED: Final = "ConditionalCheckFailedException"

Values = Mapping[str, Any]
_NO_VALUES: Final[Values] = MappingProxyType({})


class DynamoWorkerRegistry:
    """A `WorkerRegistry` with one item for each worker. A heartbeat costs one write unit.

    Assigned runs are a set of their own, so that a heartbeat and an assignment never overwrite each other. A worker
    whose item has expired is not returned, even though TTL deletes the item some hours later.
    """

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def register(self, worker: WorkerRecord) -> None:
        with translated("register"):
            self._client.put_item(TableName=self._table, Item=_to_item(worker))

    def find(self, worker_id: str) -> WorkerRecord | None:
        with translated("find worker"):
            reply = self._client.get_item(TableName=self._table, Key=worker_key(worker_id), ConsistentRead=True)
        return next(_readable([reply["Item"]], self._clock.now()), None) if "Item" in reply else None

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        item = self._update_known(
            worker_id,
            now,
            "SET #beat = :beat, #load = :load, #expiry = :expiry",
            {"#beat": "heartbeat_at", "#load": "load"},
            {":beat": _number(now), ":load": _text(registry_codec.load_text(load)), ":expiry": _number(expiry_of(now))},
        )
        return None if item is None else next(_readable([item], now), None)

    def assign(self, worker_id: str, run_id: str) -> bool:
        has_room = "attribute_not_exists(#assigned) OR size(#assigned) < :most OR contains(#assigned, :id)"
        room = {":most": _number(MOST_ASSIGNED), ":id": _text(run_id)}
        return self._change_assigned(worker_id, "ADD", [run_id], has_room, room) is not None

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        if run_ids:
            self._change_assigned(worker_id, "DELETE", run_ids)

    def workers(self) -> Sequence[WorkerRecord]:
        now = self._clock.now()
        items: list[Mapping[str, Any]] = []
        start: dict[str, Any] = {}
        while True:
            with translated("workers"):
                reply = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :workers",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY},
                    ExpressionAttributeValues={":workers": _text(WORKERS_PARTITION)},
                    **start,
                )
            items += reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return list(_readable(items, now))
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def _change_assigned(
        self, worker_id: str, action: str, run_ids: Sequence[str], condition: str = "", values: Values = _NO_VALUES
    ) -> Mapping[str, Any] | None:
        return self._update_known(
            worker_id,
            self._clock.now(),
            f"{action} #assigned :ids",
            {"#assigned": "assigned"},
            {":ids": {"SS": sorted(set(run_ids))}, **values},
            condition=condition,
        )

    def _update_known(
        self,
        worker_id: str,
        now: int,
        expression: str,
        names: Mapping[str, str],
        values: Values,
        *,
        condition: str = "",
    ) -> Mapping[str, Any] | None:
        """Return the item after the update, or None when the worker is not known or does not meet the condition."""
        try:
            with translated("update worker"):
                return self._client.update_item(
                    TableName=self._table,
                    Key=worker_key(worker_id),
                    UpdateExpression=expression,
                    ConditionExpression="#expiry > :seconds" + (f" AND ({condition})" if condition else ""),
                    ExpressionAttributeNames={**names, "#expiry": TTL_ATTRIBUTE},
                    ExpressionAttributeValues={**values, ":seconds": _number(now // 1000)},
                    ReturnValues="ALL_NEW",
                )["Attributes"]
        except ClientError as error:
            if error_code(error) != _REFUSED:
                raise
            return None


class DynamoSigningStore:
    """A `SigningStore` with one item for each tenant."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        with translated("signing keys"):
            reply = self._client.get_item(TableName=self._table, Key=signing_key(tenant), ConsistentRead=True)
        if "Item" not in reply:
            return ()
        refuse_newer_item(reply["Item"], "the signing key")
        return registry_codec.keys_of(reply["Item"]["keys"]["S"])

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        item = {**signing_key(tenant), "keys": _text(registry_codec.keys_text(keys))}
        unseen = "" if seen else "attribute_not_exists(#keys) OR "
        try:
            with translated("replace signing keys"):
                self._client.put_item(
                    TableName=self._table,
                    Item=item,
                    ConditionExpression=f"{unseen}#keys = :seen",
                    ExpressionAttributeNames={"#keys": "keys"},
                    ExpressionAttributeValues={":seen": _text(registry_codec.keys_text(seen))},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if error_code(error) != _REFUSED:
                raise
            # Keys are random. If ours are stored, our own write succeeded and its reply was lost.
            current: Mapping[str, Any] = error.response.get("Item") or {}  # type: ignore[assignment]
            return bool(current.get("keys") == item["keys"])
        return True


def _to_item(worker: WorkerRecord) -> dict[str, Any]:
    assigned = {"assigned": {"SS": sorted(worker.assigned)}} if worker.assigned else {}
    return {
        **worker_key(worker.worker_id),
        "about": _text(registry_codec.about(worker)),
        "heartbeat_at": _number(worker.heartbeat_at),
        "load": _text(registry_codec.load_text(worker.load)),
        TTL_ATTRIBUTE: _number(worker.expires_at),
        **assigned,
    }


def _readable(items: Iterable[Mapping[str, Any]], now: int) -> Iterator[WorkerRecord]:
    """Yield the workers that have not expired. A worker that cannot be read counts as unknown: it registers again."""
    for item in items:
        try:
            refuse_newer_item(item, "the worker")
            if not _has_expired(item, now):
                yield _to_worker(item)
        except (*registry_codec.DAMAGED, Unavailable) as error:
            _LOG.error("worker_unreadable", extra={"worker": str(item[SORT_KEY]["S"]), "why": repr(error)})


def _to_worker(item: Mapping[str, Any]) -> WorkerRecord:
    return registry_codec.worker_of(
        str(item[SORT_KEY]["S"]),
        item["about"]["S"],
        int(item["heartbeat_at"]["N"]),
        item["load"]["S"],
        item.get("assigned", {}).get("SS", ()),
    )


def _has_expired(item: Mapping[str, Any], now: int) -> bool:
    return int(item[TTL_ATTRIBUTE]["N"]) <= now // 1000


def _text(value: str) -> dict[str, str]:
    return {"S": value}


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}
