"""Write poisoned records straight into SQLite, where no use case and no codec checks them."""

import json
from itertools import count
from typing import Any

from onthedot.core.codec import encode
from onthedot.core.ids import job_id_for_key
from onthedot.core.slots import BUCKET_MS, SlotKind, bucket_of, shard_of, slot_name
from tests.builders import World, a_run
from tests.poison import poisoned


def poison_slot(world: World, kind: str, slot_kind: SlotKind, fire_at: int, *, shard: int, tenant: str = "bad") -> str:
    """Store a record with this kind of poison in the slot of the shard at this minute. Return its id."""
    fire_at -= fire_at % BUCKET_MS
    run_id = id_in_shard(f"{kind} {slot_kind} {fire_at}", shard, world.deployment.shards)
    run = (
        a_run(world.clock, world.deployment)
        .called(run_id)
        .in_tenant(tenant)
        .having(nominal_at=fire_at, fire_at=fire_at)
    )
    healthy = run.pending().build() if slot_kind is SlotKind.FIRE else run.dispatched().build()
    slot = slot_name(slot_kind, shard, bucket_of(fire_at))
    write_raw(world, poisoned({**encode(healthy), "slot": slot}, kind))
    return run_id


def write_raw(world: World, stored: dict[str, Any]) -> None:
    """Insert a row. A newer version may have added columns."""
    row = {name: json.dumps(sorted(v)) if isinstance(v, frozenset) else v for name, v in stored.items()}
    columns, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    with world.database.transaction() as connection:
        present = {column["name"] for column in connection.execute("PRAGMA table_info(runs)")}
        for name in row.keys() - present:
            connection.execute(f'ALTER TABLE runs ADD COLUMN "{name}"')
        connection.execute(f"INSERT INTO runs ({columns}) VALUES ({places})", list(row.values()))


def raw_fields(world: World, run_id: str) -> dict[str, Any]:
    """Return the row as it is stored."""
    with world.database.transaction() as connection:
        row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return dict(zip(row.keys(), row, strict=True))


def id_in_shard(name: str, shard: int, shards: int) -> str:
    """Return an id of the shard, always the same for a name."""
    ids = (job_id_for_key("poison", f"{name} {number}") for number in count())
    return next(job_id for job_id in ids if shard_of(job_id, shards) == shard)
