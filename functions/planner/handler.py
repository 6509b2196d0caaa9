"""Put one tick for each group of shards on the tick queue, once a minute."""

import os
from typing import Any

from onthedot.clock import SystemClock
from onthedot.observability import logger
from onthedot.settings import PlannerSettings
from onthedot.use_cases.dispatch.plan_ticks import plan_ticks
from onthedot.wiring.aws import tick_queue

_settings = PlannerSettings.from_environment(os.environ)
_queue = tick_queue(_settings)
_log = logger("planner")


def handle(event: Any, context: Any) -> dict[str, int]:  # noqa: ARG001
    """Send the ticks of this minute."""
    sent = plan_ticks(_queue, SystemClock(), shards=_settings.shards, shards_per_group=_settings.shards_per_group)
    _log.info("planned", extra={"ticks": sent})
    return {"ticks": sent}
