"""Put one tick for each group of shards on the tick queue, once a minute."""

import os
from typing import Any

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.shards import ServedShards
from onthedot.core.tick import plan_ticks
from onthedot.metrics import is_time_to_check, observe_stage
from onthedot.observability import Metrics, logger
from onthedot.settings import PlannerSettings
from onthedot.wiring.aws import dead_letters, shard_store, tick_queue, worker_registry
from onthedot.workers.registry import missing_workers

_settings = PlannerSettings.from_environment(os.environ)
_queue = tick_queue(_settings)
_shards = ServedShards(shard_store(_settings.table), _settings.shards)
_metrics = Metrics(_settings.stage)
_clock = SystemClock()
_dead_letters = dead_letters(_settings)
_registry = worker_registry(_settings.table)
_log = logger("planner")


def handle(event: Any, context: Any) -> dict[str, int]:  # noqa: ARG001
    """Send the ticks of this minute, for all shards that any version has used."""
    shards = _shards.count()
    sent = plan_ticks(_queue, _clock, shards=shards, shards_per_group=_settings.shards_per_group)
    _log.info("planned", extra={"ticks": sent, "shards": shards})
    if is_time_to_check(_clock.now()):
        try:
            _check()
        except Exception:  # noqa: BLE001 (the ticks are sent, and a retry would send them again)
            _log.exception("stage_not_checked")
    return {"ticks": sent}


def _check() -> None:
    """Count undeliverable messages and missing workers."""
    try:
        least = _settings.least_workers
        missing = missing_workers(_registry, least, _clock.now()) if least else 0
    except Unavailable as error:
        _log.warning("workers_not_counted", extra={"error": str(error)})
        missing = 0
    observe_stage(_metrics, undeliverable=_dead_letters.count(), missing=missing)
    _metrics.flush()
