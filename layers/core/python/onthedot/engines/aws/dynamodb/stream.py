"""Records of the table's stream, as Lambda hands them over: each is a change of one job or run."""

from collections.abc import Mapping
from typing import Any

from onthedot.domain.runs.records import Record
from onthedot.engines.aws.dynamodb.items import to_run
from onthedot.engines.aws.dynamodb.keys import JOB_SORT_KEY, RUN_PREFIX
from onthedot.ports import RecordChange
from onthedot.schema import SORT_KEY


def is_of_a_run(record: Mapping[str, Any]) -> bool:
    """The table holds other things too: tokens, workers, limits…"""
    sort = str(record["dynamodb"]["Keys"][SORT_KEY]["S"])
    return sort == JOB_SORT_KEY or sort.startswith(RUN_PREFIX)


def read_change(record: Mapping[str, Any]) -> RecordChange:
    """Raises ValueError, KeyError or TypeError for what is no job and no run."""
    told = record["dynamodb"]
    return RecordChange(
        position=str(told["SequenceNumber"]),
        old=_image(told, "OldImage"),
        new=_image(told, "NewImage"),
        at=round(float(told.get("ApproximateCreationDateTime", 0)) * 1000),
    )


def _image(told: Mapping[str, Any], name: str) -> Record | None:
    return to_run(told[name]) if told.get(name) else None
