"""Records of the table's stream in the form that Lambda receives. Each is a change of one item."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onthedot.core.records import Record
from onthedot.core.schema import JOB_SORT_KEY, RUN_PREFIX, SORT_KEY
from onthedot.engines.aws.dynamodb.records import to_run
from onthedot.events.ports import RecordChange

_LOG: Final = logging.getLogger(__name__)


def is_of_a_run(record: Mapping[str, Any]) -> bool:
    """Return whether the item is a job or run. The table also has tokens, workers and limits."""
    sort = str(record["dynamodb"]["Keys"][SORT_KEY]["S"])
    return sort == JOB_SORT_KEY or sort.startswith(RUN_PREFIX)


def read_changes(records: Sequence[Mapping[str, Any]]) -> tuple[list[RecordChange], int]:
    """Return the changes of jobs and runs, and the number of records that cannot be read.

    Such a record is logged and left out. If it were kept, its shard of the stream would stop for a day.
    """
    changes: list[RecordChange] = []
    unreadable = 0
    for record in records:
        try:
            if is_of_a_run(record):
                changes.append(read_change(record))
        except Exception as error:  # noqa: BLE001 (one bad record must not stop the others)
            unreadable += 1
            about = {"keys": record.get("dynamodb", {}).get("Keys"), "error": repr(error)}
            _LOG.error("unreadable_record", extra=about)
    return changes, unreadable


def read_change(record: Mapping[str, Any]) -> RecordChange:
    """Return the change. Raise UnreadableRecord or KeyError when the item is not a job or run."""
    change = record["dynamodb"]
    return RecordChange(
        position=str(change["SequenceNumber"]),
        old=_image(change, "OldImage"),
        new=_image(change, "NewImage"),
        at=round(float(change.get("ApproximateCreationDateTime", 0)) * 1000),
    )


def _image(change: Mapping[str, Any], name: str) -> Record | None:
    return to_run(change[name]) if change.get(name) else None
