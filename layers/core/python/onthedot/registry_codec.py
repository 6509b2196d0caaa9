"""Encode pull workers, signing keys and limits as text: the one shape that both engines store.

Fields that a newer version wrote are ignored.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from onthedot.domain import compact_json
from onthedot.domain.runs.fairness import QUEUE_PREFIX, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import Load, Resources, WorkerRecord

DAMAGED: Final = (AttributeError, KeyError, TypeError, ValueError)
"""The errors that reading a damaged text raises."""
MOST_THROTTLED_BYTES: Final = 100 * 1024
"""Most bytes of the marks of one shard group. Only the claim pass limits a tenant without a mark."""


def about(worker: WorkerRecord) -> str:
    """Return the part of a worker that stays the same after its registration."""
    return _dump(
        {
            "tenant": worker.tenant,
            "pool": worker.pool,
            "capabilities": sorted(worker.capabilities),
            "resources": asdict(worker.resources),
            "registered_at": worker.registered_at,
            "host": worker.host,
        }
    )


def load_text(load: Load) -> str:
    """Return the part of a worker that each heartbeat replaces."""
    return _dump(asdict(load))


def worker_of(worker_id: str, about: str, heartbeat_at: int, load: str, assigned: Iterable[str]) -> WorkerRecord:
    """Return the worker from its stored parts."""
    stored: dict[str, Any] = json.loads(about)
    return WorkerRecord(
        worker_id=worker_id,
        tenant=stored["tenant"],
        pool=stored["pool"],
        capabilities=frozenset(stored["capabilities"]),
        resources=_resources(stored["resources"]),
        registered_at=stored["registered_at"],
        heartbeat_at=heartbeat_at,
        load=_load(json.loads(load)),
        assigned=frozenset(assigned),
        host=stored["host"],
    )


def keys_text(keys: Sequence[SigningKey]) -> str:
    """Return the keys as text. Equal keys give equal text, so that a writer can expect the keys that it read."""
    return _dump([[key.secret, key.created_at, key.retires_at] for key in keys])


def keys_of(text: str) -> tuple[SigningKey, ...]:
    """Return the keys that `keys_text` encoded."""
    return tuple(SigningKey(*values[:3]) for values in json.loads(text))


def limits_text(limits: TenantLimits) -> str:
    """Return the limits of a tenant as text."""
    return _dump(asdict(limits))


def limits_of(text: str) -> TenantLimits:
    """Return the limits that `limits_text` encoded."""
    return TenantLimits(**_known(TenantLimits, json.loads(text)))


def throttled_text(throttled: Mapping[str, str]) -> str:
    """Return the reasons by tenant and queue as text. The queues come first, and what does not fit is left out."""
    kept: dict[str, str] = {}
    room = MOST_THROTTLED_BYTES
    for name, why in sorted(throttled.items(), key=lambda mark: not mark[0].startswith(QUEUE_PREFIX)):
        room -= len(_dump({name: why}).encode())
        if room < 0:
            break
        kept[name] = why
    return _dump(kept)


def throttled_of(text: str) -> dict[str, str]:
    """Return the reasons that `throttled_text` encoded."""
    return dict(json.loads(text))


def _load(stored: Mapping[str, Any]) -> Load:
    return Load(tuple(stored["running"]), _resources(stored["used"]), stored["stopping"], stored["stopped"])


def _resources(stored: Mapping[str, Any]) -> Resources:
    return Resources(**_known(Resources, stored))


def _known(kind: type[Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in stored.items() if name in names}


def _dump(value: Any) -> str:
    return compact_json.to_text(value)
