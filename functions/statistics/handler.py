"""Count the ends of runs in a batch of the table's stream."""

import os
from typing import Any

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.engines.aws.dynamodb.stream import read_changes
from onthedot.metrics import UNSETTLED
from onthedot.observability import Metrics, logger
from onthedot.settings import StatisticsSettings
from onthedot.statistics.store import count_changes
from onthedot.wiring.aws import observe_clients, statistics_writer

_settings = StatisticsSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage)
observe_clients(_metrics)
_writer, _clock = statistics_writer(_settings)
_log = logger("statistics")
_SPARE_MS = 10_000


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Count the batch. Raise Unavailable when some counters cannot be written: Lambda delivers the batch again.

    The event names its shard because the source has a tumbling window. Such a source wants a state in each answer,
    and calls once more at the end of a window, without records.
    """
    if not event["Records"]:
        return {"state": {}}
    deadline = Deadline.after(_clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    changes, unreadable = read_changes(event["Records"])
    result = count_changes(_writer, event["shardId"], changes, _clock, deadline)
    counts = {"ended": result.ended, "items": result.items, "faulty": result.faulty, "unreadable": unreadable}
    _log.info("counted", extra={**counts, "unwritten": result.unwritten})
    _metrics.add(UNSETTLED, result.faulty + unreadable)
    _metrics.flush()
    if result.unwritten:
        raise Unavailable(f"the counters of {result.unwritten} minutes were not written")
    return {"state": {}}
