"""Encode pull workers and signing keys as text: the one shape that both engines store."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from onthedot.domain import compact_json
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import Load, Resources, WorkerRecord


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
    fields: dict[str, Any] = json.loads(about)
    return WorkerRecord(
        worker_id=worker_id,
        tenant=fields["tenant"],
        pool=fields["pool"],
        capabilities=frozenset(fields["capabilities"]),
        resources=Resources(**fields["resources"]),
        registered_at=fields["registered_at"],
        heartbeat_at=heartbeat_at,
        load=_load(json.loads(load)),
        assigned=frozenset(assigned),
        host=fields["host"],
    )


def keys_text(keys: Sequence[SigningKey]) -> str:
    """Return the keys as text. Equal keys give equal text, so that a writer can expect the keys that it read."""
    return _dump([[key.secret, key.created_at, key.retires_at] for key in keys])


def keys_of(text: str) -> tuple[SigningKey, ...]:
    """Return the keys that `keys_text` encoded."""
    return tuple(SigningKey(*fields) for fields in json.loads(text))


def _load(fields: Mapping[str, Any]) -> Load:
    return Load(tuple(fields["running"]), Resources(**fields["used"]), fields["stopping"], fields["stopped"])


def _dump(value: Any) -> str:
    return compact_json.to_text(value)
