"""Put one tick for each group of shards on the tick queue, once a minute."""

import os
from typing import Any

from onthedot.clock import SystemClock
from onthedot.observability import logger
from onthedot.settings import PlannerSettings
from onthedot.use_cases.dispatch.plan_ticks import plan_ticks
from onthedot.use_cases.shards.served_shards import ServedShards
from onthedot.wiring.aws import shard_store, tick_queue

_settings = PlannerSettings.from_environment(os.environ)
_queue = tick_queue(_settings)
_shards = ServedShards(shard_store(_settings.table), _settings.shards)
_log = logger("planner")


def handle(event: Any, context: Any) -> dict[str, int]:  # noqa: ARG001
    """Send the ticks of this minute, for all shards that any version has used."""
    shards = _shards.count()
    sent = plan_ticks(_queue, SystemClock(), shards=shards, shards_per_group=_settings.shards_per_group)
    _log.info("planned", extra={"ticks": sent, "shards": shards})
    return {"ticks": sent}
