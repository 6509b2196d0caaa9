"""Store one poisoned record of each kind in each shard's slots of the deployed stack, and healthy jobs beside them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from onthedot.core.clock import SystemClock
from onthedot.core.codec import encode
from onthedot.core.records import Record, Status
from onthedot.core.slots import BUCKET_MS, SlotKind, bucket_of, horizon, slot_name
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import to_attribute
from tests.builders import a_run
from tests.e2e.control import Control
from tests.poison import POISONS, poisoned

if TYPE_CHECKING:
    from tests.e2e.deployment import Deployment

ONE_OFFS = 80
RECURRING = 20
LOOKAHEAD = 3


@dataclass
class PoisonedStory:
    """The healthy jobs and the poisoned records, as they were stored."""

    due: int
    """The minute in which the healthy jobs fire."""
    one_offs: list[str] = field(default_factory=list)
    recurring: list[str] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)
    """Over the minute in which the healthy jobs fire."""
    records: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """The kind and the item of each poisoned record, by its id."""


def begin_poisoned(deployment: "Deployment", shards: int) -> PoisonedStory:
    """Store the poisoned records first, then submit the healthy jobs. Only the claim pass can fire them."""
    due = horizon(time.time_ns() // 1_000_000, LOOKAHEAD) + 2 * BUCKET_MS
    story = PoisonedStory(due)
    dynamodb = deployment.client("dynamodb")
    for kind, item in _items(shards, due):
        dynamodb.put_item(TableName=deployment.stack.table, Item=item)
        story.records[run_id_of(item)] = kind, item
    url = f"{deployment.listener.url}/beside-poison"
    jobs = [{"callback_url": url, "at": (due + n * 500) / 1000} for n in range(ONE_OFFS)]
    status, answer = deployment.api.call("POST", "/v1/jobs/batch", {"jobs": jobs})
    assert status in (200, 202, 207), answer
    story.one_offs = [one["job_id"] for one in answer["jobs"]]
    minute = time.gmtime(due / 1000)
    cron = f"{minute.tm_min} {minute.tm_hour} * * *"
    story.recurring = [
        deployment.api.submit(callback_url=f"{deployment.listener.url}/cron-beside-poison", cron=cron)["job_id"]
        for _ in range(RECURRING)
    ]
    story.controls = [deployment.control(due + second * 1000) for second in range(0, 40, 5)]
    return story


def _items(shards: int, due: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the records by kind: in the slots that the next ticks read, and in the slots of the healthy jobs."""
    now = time.time_ns() // 1_000_000
    for kind in POISONS:
        for shard in range(shards):
            for slot in (
                slot_name(SlotKind.FIRE, shard, bucket_of(now) + 1),
                slot_name(SlotKind.FIRE, shard, bucket_of(due)),
                slot_name(SlotKind.WATCH, shard, bucket_of(now) + 1),
                slot_name(SlotKind.WATCH, shard, bucket_of(due)),
            ):
                # A job that can be read and is in the wrong kind of slot is another story.
                if not (kind == "newer schedule" and slot.startswith(SlotKind.WATCH)):
                    yield kind, _item(kind, slot)


def _item(kind: str, slot: str) -> dict[str, Any]:
    status = Status.PENDING if slot.startswith(SlotKind.FIRE) else Status.DISPATCHED
    healthy: Record = a_run(SystemClock()).in_tenant("local").standing(status, slot).build()
    stored = poisoned(encode(replace(healthy, slot=slot)), kind)
    fields = {name: to_attribute(value) for name, value in stored.items() if name not in ("run_id", "job_id")}
    return {**run_key(healthy.run_id), **fields}
