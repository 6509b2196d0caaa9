"""Restore the table to a point in time: as a new table, with everything that the stacks expect of it.

A restored table has the items and the indexes of that time. DynamoDB does not restore its stream, its TTL, its own
backups and its protection. Each step can be repeated, so a command that was interrupted can be given again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.core.errors import OnthedotError
from onthedot.core.ports import Clock
from onthedot.core.schema import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

POLL_MS: Final = 5_000
BACKUP_TRIES: Final = 60
STREAM: Final = "NEW_AND_OLD_IMAGES"


class AlreadyThere(OnthedotError):
    """Another table has the name of the new one."""


@dataclass(frozen=True, slots=True)
class RestoredTable:
    name: str
    stream_arn: str


def restore_table(
    client: "DynamoDBClient",
    table: str,
    name: str,
    at: datetime | None,
    *,
    clock: Clock,
    on_wait: Callable[[str], None],
) -> RestoredTable:
    """Restore `table` as it was at this time, or at the latest time possible, as the new table `name`.

    `on_wait` gets the status of the new table each time before this waits for it. Raise AlreadyThere for a name that
    another table has.
    """
    source = client.describe_table(TableName=table)["Table"]
    point: dict[str, Any] = {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": at}
    try:
        client.restore_table_to_point_in_time(SourceTableName=table, TargetTableName=name, **point)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("TableAlreadyExistsException", "ResourceInUseException"):
            raise
        _check_same(client.describe_table(TableName=name)["Table"], source, at)
    found = _wait_until_active(client, name, clock, on_wait)
    protected = bool(source.get("DeletionProtectionEnabled"))
    if bool(found.get("DeletionProtectionEnabled")) != protected:
        client.update_table(TableName=name, DeletionProtectionEnabled=protected)
        _wait_until_active(client, name, clock, on_wait)
    if not found.get("StreamSpecification", {}).get("StreamEnabled"):
        stream: Any = {"StreamEnabled": True, "StreamViewType": STREAM}
        client.update_table(TableName=name, StreamSpecification=stream)
        found = _wait_until_active(client, name, clock, on_wait)
    _expire_items(client, name)
    _back_up(client, name, clock, on_wait)
    return RestoredTable(name, found["LatestStreamArn"])


def _check_same(found: Any, source: Any, at: datetime | None) -> None:
    """Raise AlreadyThere if the table that has the name already is not the result of the same restore.

    DynamoDB describes the source and the time of a restored table. Its local substitutes do not.
    """
    restored = found.get("RestoreSummary", {})
    of_source = restored.get("SourceTableArn", source["TableArn"]) == source["TableArn"]
    of_time = at is None or _second(restored.get("RestoreDateTime", at)) == _second(at)
    if found["TableName"] == source["TableName"] or not (of_source and of_time):
        raise AlreadyThere(f"there is another table {found['TableName']} already; give another name")


def _second(moment: datetime) -> int:
    return int(moment.timestamp())


def _back_up(client: "DynamoDBClient", name: str, clock: Clock, on_wait: Callable[[str], None]) -> None:
    """Turn on backups. DynamoDB refuses that for a while after the table was made."""
    wanted: Any = {"PointInTimeRecoveryEnabled": True}
    for _ in range(BACKUP_TRIES):
        try:
            client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=wanted)
        except client.exceptions.ContinuousBackupsUnavailableException:
            on_wait("without backups")
            clock.sleep_until(clock.now() + POLL_MS)
        else:
            return
    client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=wanted)


def _wait_until_active(client: "DynamoDBClient", name: str, clock: Clock, on_wait: Callable[[str], None]) -> Any:
    while True:
        found: Any = client.describe_table(TableName=name)["Table"]
        indexes = [index.get("IndexStatus", "ACTIVE") for index in found.get("GlobalSecondaryIndexes", [])]
        waits_for = next((status for status in (found["TableStatus"], *indexes) if status != "ACTIVE"), None)
        if waits_for is None:
            return found
        on_wait(waits_for)
        clock.sleep_until(clock.now() + POLL_MS)


def _expire_items(client: "DynamoDBClient", name: str) -> None:
    """Turn on the TTL, unless it is on: DynamoDB refuses to turn it on twice."""
    present = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if present.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        wanted: Any = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=wanted)
