"""A batch of the table's stream: what became of jobs and runs is told to the bus."""

import os
from collections.abc import Iterator
from typing import Any

from onthedot.engines.aws.dynamodb.stream import is_of_a_run, read_change
from onthedot.observability import emit, logger
from onthedot.ports import Deadline, RecordChange
from onthedot.settings import PublisherSettings
from onthedot.use_cases.events.publish_changes import PublishOptions, publish_changes
from onthedot.wiring.aws import publisher

_settings = PublisherSettings.from_environment(os.environ)
_bus, _clock = publisher(_settings)
_telling = PublishOptions(every_change=_settings.every_change, with_results=_settings.with_results)
_log = logger("publisher")
_SPARE_MS = 5_000


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The first record that could not be told is reported as failed: from there on Lambda hands them over again."""
    deadline = Deadline.after(_clock, context.get_remaining_time_in_millis() - _SPARE_MS)
    changes = list(_readable(event["Records"]))
    told = publish_changes(_bus, changes, _telling, deadline)
    unreadable = sum(map(is_of_a_run, event["Records"])) - len(changes)
    counts = {"published": told.published, "unpublishable": told.refused + unreadable}
    _log.info("published", extra={**counts, "again_from": told.again_from})
    emit(_settings.stage, "publisher", counts)
    again = [] if told.again_from is None else [{"itemIdentifier": told.again_from}]
    return {"batchItemFailures": again}


def _readable(records: list[dict[str, Any]]) -> Iterator[RecordChange]:
    """What is no job and no run is none of ours; one that cannot be read never will be, and must not hold up others."""
    for record in records:
        if not is_of_a_run(record):
            continue
        try:
            yield read_change(record)
        except (ValueError, KeyError, TypeError) as error:
            keys = record["dynamodb"]["Keys"]
            _log.error("unreadable_record", extra={"keys": keys, "error": repr(error)})
