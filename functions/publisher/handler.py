"""Publish a batch of the table's stream: changes of jobs and runs become events on the bus."""

import os
from collections.abc import Iterator
from typing import Any

from onthedot.domain.errors import UnreadableRecord
from onthedot.engines.aws.dynamodb.stream import is_of_a_run, read_change
from onthedot.observability import emit, logger
from onthedot.ports import Deadline, RecordChange
from onthedot.settings import PublisherSettings
from onthedot.use_cases.events.publish_changes import PublishOptions, publish_changes
from onthedot.wiring.aws import publisher

_settings = PublisherSettings.from_environment(os.environ)
_bus, _clock = publisher(_settings)
_options = PublishOptions(every_change=_settings.every_change, with_results=_settings.with_results)
_log = logger("publisher")
_SPARE_MS = 5_000


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Publish the batch. Report the first change that was not published as failed: Lambda repeats from there on."""
    deadline = Deadline.after(_clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    changes = list(_readable(event["Records"]))
    result = publish_changes(_bus, changes, _options, deadline)
    unreadable = sum(map(is_of_a_run, event["Records"])) - len(changes)
    counts = {"published": result.published, "unpublishable": result.refused + unreadable}
    _log.info("published", extra={**counts, "again_from": result.again_from})
    emit(_settings.stage, "publisher", counts)
    again = [] if result.again_from is None else [{"itemIdentifier": result.again_from}]
    return {"batchItemFailures": again}


def _readable(records: list[dict[str, Any]]) -> Iterator[RecordChange]:
    """Yield the changes of jobs and runs. A record that cannot be read never will be, so it is logged and left out."""
    for record in records:
        if not is_of_a_run(record):
            continue
        try:
            yield read_change(record)
        except (UnreadableRecord, ValueError, KeyError, TypeError) as error:
            keys = record["dynamodb"]["Keys"]
            _log.error("unreadable_record", extra={"keys": keys, "error": repr(error)})
