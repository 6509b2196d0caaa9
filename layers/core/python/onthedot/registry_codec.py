"""Encode pull workers, signing keys and limits as text: the one shape that both engines store.

Fields that a newer version wrote are ignored.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from onthedot.domain import compact_json
from onthedot.domain.gates.limits import GateLimits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import Load, Resources, WorkerRecord

DAMAGED: Final = (AttributeError, KeyError, TypeError, ValueError)
"""The errors that reading a damaged text raises."""


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
    """Return the part of a worker that each heartbeat replaces.

    The latest runs are packed: each heartbeat writes them, and costs by the size of the worker's item.
    """
    return _dump({**asdict(load), "recent": _packed(load.recent)})


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


def tenant_of(about: str) -> str | None:
    """Return the tenant of a worker. None: it serves all tenants, or the text is damaged."""
    try:
        tenant = json.loads(about)["tenant"]
    except DAMAGED:
        return None
    return tenant if isinstance(tenant, str) else None


def keys_text(keys: Sequence[SigningKey]) -> str:
    """Return the keys as text. Equal keys give equal text, so that a writer can expect the keys that it read."""
    return _dump([[key.secret, key.created_at, key.retires_at] for key in keys])


def keys_of(text: str) -> tuple[SigningKey, ...]:
    """Return the keys that `keys_text` encoded."""
    return tuple(SigningKey(*values[:3]) for values in json.loads(text))


def limits_text(limits: GateLimits) -> str:
    """Return the limits of a gate or a tenant as text. Limits that are not set are left out."""
    return _dump({name: value for name, value in asdict(limits).items() if value is not None})


def limits_of(text: str) -> TenantLimits:
    """Return the limits of a tenant that `limits_text` encoded. Raise one of `DAMAGED`."""
    return TenantLimits(**_known_limits(TenantLimits, text))


def gate_limits_of(text: str) -> GateLimits:
    """Return the limits of a gate that `limits_text` encoded. Raise one of `DAMAGED`."""
    return GateLimits(**_known_limits(GateLimits, text))


def _known_limits(kind: type[GateLimits], text: str) -> dict[str, Any]:
    known = {name: value for name, value in _known(kind, json.loads(text)).items() if value is not None}
    for name, value in known.items():
        if not _is_of_type(name, value):
            raise ValueError(f"its {name} is {value!r}")
    return known


def _is_of_type(name: str, value: Any) -> bool:
    if name == "put_by":
        return isinstance(value, str)
    return (type(value) is bool) == (name == "paused") and isinstance(value, int | float)


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
    return Resources(**_known(Resources, stored))


def _known(kind: type[Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in stored.items() if name in names}


def _dump(value: Any) -> str:
    return compact_json.to_text(value)
