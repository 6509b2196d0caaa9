"""Entries of the listing index, with the facts of jobs that it projects."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onthedot.core.choices import Priority
from onthedot.core.codec import refuse_newer
from onthedot.core.listing import JobFacts, makes_graph
from onthedot.core.ports import ListEntry
from onthedot.core.records import Kind
from onthedot.core.schema import LABEL, LISTING
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import from_item
from onthedot.engines.aws.errors import translated
from onthedot.engines.entries import read_label

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


def listed_jobs(
    client: "DynamoDBClient", table: str, partition: str, limit: int, after: tuple[int, str] | None
) -> tuple[list[ListEntry], bool]:
    start: dict[str, Any] = {} if after is None else {"ExclusiveStartKey": _start_key(partition, *after)}
    with translated("listed"):
        reply = client.query(
            TableName=table,
            IndexName=LISTING.name,
            KeyConditionExpression="#under = :under",
            ExpressionAttributeNames={"#under": LISTING.partition_key},
            ExpressionAttributeValues={":under": {"S": partition}},
            ScanIndexForward=False,
            Limit=limit,
            **start,
        )
    return [_entry(item) for item in reply["Items"]], "LastEvaluatedKey" in reply


def _entry(item: Mapping[str, Any]) -> ListEntry:
    run_id = run_id_of(item)
    return ListEntry(run_id, int(item[LISTING.sort_key]["N"]), _facts(run_id, from_item(item)))


def _facts(run_id: str, item: Mapping[str, Any]) -> JobFacts | None:
    """Return the projected facts. None: an earlier or newer version wrote the job, or its label is too long."""
    try:
        refuse_newer(item)
        name, tags = read_label(item[LABEL])
        workflow = item.get("workflow")
        is_workflow = makes_graph(run_id, workflow)
        return JobFacts(Kind(item["kind"]), Priority(item["priority"]), workflow, name, tags, is_workflow)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _start_key(partition: str, created_at: int, run_id: str) -> dict[str, Any]:
    return {**run_key(run_id), LISTING.partition_key: {"S": partition}, LISTING.sort_key: {"N": str(created_at)}}
