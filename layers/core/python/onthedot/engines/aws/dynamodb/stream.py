"""Records of the table's stream in the form that Lambda receives. Each is a change of one item."""

from collections.abc import Mapping
from typing import Any

from onthedot.domain.runs.records import Record
from onthedot.engines.aws.dynamodb.items import to_run
from onthedot.engines.aws.dynamodb.keys import JOB_SORT_KEY, RUN_PREFIX
from onthedot.ports import RecordChange
from onthedot.schema import SORT_KEY


def is_of_a_run(record: Mapping[str, Any]) -> bool:
    """Return whether the item is a job or run. The table also has tokens, workers and limits."""
    sort = str(record["dynamodb"]["Keys"][SORT_KEY]["S"])
    return sort == JOB_SORT_KEY or sort.startswith(RUN_PREFIX)


def read_change(record: Mapping[str, Any]) -> RecordChange:
    """Raise UnreadableRecord, ValueError, KeyError or TypeError when the item is not a job or run that can be read."""
    change = record["dynamodb"]
    return RecordChange(
        position=str(change["SequenceNumber"]),
        old=_image(change, "OldImage"),
        new=_image(change, "NewImage"),
        at=round(float(change.get("ApproximateCreationDateTime", 0)) * 1000),
    )


def _image(change: Mapping[str, Any], name: str) -> Record | None:
    return to_run(change[name]) if change.get(name) else None
