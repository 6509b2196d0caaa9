"""The registry of pull workers: an item for each worker. A heartbeat costs one write unit.

Assigned runs are a set of their own, so that a heartbeat and an assignment never overwrite each other.
"""

import base64
import json
import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from onthedot.core import json_text
from onthedot.core.errors import Unavailable
from onthedot.core.items import EXPIRES_AT, PRESENT, Change, Item, Items, Value, contains, fewer, whole
from onthedot.core.schema import WORKERS_PARTITION, worker_key
from onthedot.workers.records import MOST_ASSIGNED, Load, Resources, WorkerRecord, WorkerStatus, expiry_of

_LOG: Final = logging.getLogger(__name__)
_ABOUT: Final = "about"
_BEAT: Final = "heartbeat_at"
_LOAD: Final = "load"
_ASSIGNED: Final = "assigned"
_DAMAGED: Final = (AttributeError, KeyError, TypeError, ValueError, Unavailable)
"""The errors that reading a worker raises if it is damaged or from a newer version."""


class WorkerRegistry:
    """A store of the pull workers. A worker that cannot be read counts as unknown: it registers again."""

    def __init__(self, items: Items) -> None:
        self._items = items

    def register(self, worker: WorkerRecord) -> None:
        """Store the worker, and replace an earlier record of it."""
        values: dict[str, Value] = {
            _ABOUT: json_text.to_text(
                {
                    "tenant": worker.tenant,
                    "pool": worker.pool,
                    "capabilities": sorted(worker.capabilities),
                    "resources": asdict(worker.resources),
                    "registered_at": worker.registered_at,
                    "host": worker.host,
                }
            ),
            _BEAT: worker.heartbeat_at,
            _LOAD: _load_text(worker.load),
            EXPIRES_AT: expiry_of(worker.heartbeat_at),
        }
        if worker.assigned:
            values[_ASSIGNED] = worker.assigned
        self._items.put(worker_key(worker.worker_id), values)

    def find(self, worker_id: str) -> WorkerRecord | None:
        item = self._items.get(worker_key(worker_id))
        return None if item is None else next(_readable([item]), None)

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        change = Change(sets={_BEAT: now, _LOAD: _load_text(load), EXPIRES_AT: expiry_of(now)})
        done, item = self._items.update(worker_key(worker_id), change, [PRESENT])
        return next(_readable([item]), None) if done and item is not None else None

    def assign(self, worker_id: str, run_id: str) -> bool:
        """Assign a run to this worker. False: there is no such worker, or `MOST_ASSIGNED` runs wait for it."""
        has_room = fewer(_ASSIGNED, MOST_ASSIGNED) | contains(_ASSIGNED, run_id)
        change = Change(adds={_ASSIGNED: frozenset({run_id})})
        return self._items.update(worker_key(worker_id), change, [PRESENT, has_room]).done

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        if run_ids:
            self._items.update(worker_key(worker_id), Change(takes={_ASSIGNED: frozenset(run_ids)}), [PRESENT])

    def workers(self) -> Sequence[WorkerRecord]:
        """Return all workers whose records have not expired. The list may lag by some seconds."""
        return list(_readable(whole(self._items.query, WORKERS_PARTITION, may_lag=True)))


def _load_text(load: Load) -> str:
    """Return the part that each heartbeat replaces. A write costs by its size, so the latest runs are packed."""
    return json_text.to_text({**asdict(load), "recent": _packed(load.recent)})


def tenant_of(item: Item) -> str | None:
    """Return the tenant of a worker. None: it serves all tenants, or it cannot be read."""
    try:
        tenant = json.loads(item.text(_ABOUT))["tenant"]
    except _DAMAGED:
        return None
    return tenant if isinstance(tenant, str) else None


def _readable(items: Iterable[Item]) -> Iterator[WorkerRecord]:
    for item in items:
        try:
            item.refuse_newer("the worker")
            yield _worker(item)
        except _DAMAGED as error:
            _LOG.error("worker_unreadable", extra={"worker": item.key.sort, "why": repr(error)})


def _worker(item: Item) -> WorkerRecord:
    about: dict[str, Any] = json.loads(item.text(_ABOUT))
    return WorkerRecord(
        worker_id=item.key.sort,
        tenant=about["tenant"],
        pool=about["pool"],
        capabilities=frozenset(about["capabilities"]),
        resources=_resources(about["resources"]),
        registered_at=about["registered_at"],
        heartbeat_at=item.number(_BEAT),
        load=_load(json.loads(item.text(_LOAD))),
        assigned=item.texts(_ASSIGNED),
        host=about["host"],
    )


def _load(stored: Mapping[str, Any]) -> Load:
    return Load(
        tuple(stored["running"]),
        _resources(stored["used"]),
        stored["stopping"],
        stored["stopped"],
        _unpacked(stored.get("recent", "")),
    )


def _packed(ids: Sequence[str]) -> str:
    return base64.b85encode(zlib.compress("\n".join(ids).encode(), 9)).decode() if ids else ""


def _unpacked(text: str) -> tuple[str, ...]:
    """Return the ids that `_packed` packed. A damaged text has none: it is history, and the worker works on."""
    try:
        return tuple(zlib.decompress(base64.b85decode(text)).decode().split("\n")) if text else ()
    except (ValueError, zlib.error):
        return ()


def _resources(stored: Mapping[str, Any]) -> Resources:
    """Return the resources, without those that a newer version wrote."""
    names = {field.name for field in fields(Resources)}
    return Resources(**{name: value for name, value in stored.items() if name in names})


def missing_workers(registry: WorkerRegistry, least: Mapping[str, int], now: int) -> int:
    """Return how many live workers the pools have less than their minimum, over all pools. Raise Unavailable."""
    live = Counter(one.pool for one in registry.workers() if one.status(now) is WorkerStatus.ACTIVE)
    return sum(max(0, number - live[pool]) for pool, number in least.items())
