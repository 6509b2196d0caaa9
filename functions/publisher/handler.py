"""Publish a batch of the table's stream: changes of jobs and runs become events on the bus."""

import os
from typing import Any

from onthedot.core.ports import Deadline
from onthedot.engines.aws.dynamodb.stream import read_changes
from onthedot.events.publish import PublishOptions, publish_changes
from onthedot.metrics import UNSETTLED
from onthedot.observability import Metrics, logger
from onthedot.settings import PublisherSettings
from onthedot.wiring.aws import publisher

_settings = PublisherSettings.from_environment(os.environ)
_bus, _clock = publisher(_settings)
_metrics = Metrics(_settings.stage)
_options = PublishOptions(every_change=_settings.every_change, with_results=_settings.with_results)
_log = logger("publisher")
_SPARE_MS = 5_000


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Publish the batch. Report the first change that was not published as failed: Lambda repeats from there on."""
    deadline = Deadline.after(_clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    changes, unreadable = read_changes(event["Records"])
    result = publish_changes(_bus, changes, _options, deadline)
    counts = {"published": result.published, "unpublishable": result.refused, "unreadable": unreadable}
    _log.info("published", extra={**counts, "again_from": result.again_from})
    _metrics.add(UNSETTLED, result.refused + unreadable)
    _metrics.flush()
    again = [] if result.again_from is None else [{"itemIdentifier": result.again_from}]
    return {"batchItemFailures": again}
