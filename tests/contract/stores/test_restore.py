"""A table that is restored to a point in time has the data, the indexes and the settings that the stacks expect."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from localstack.table import table_arguments
from onthedot.core import schema
from onthedot.core.clock import SystemClock, VirtualClock
from onthedot.engines.aws.dynamodb.restore import BACKUP_TRIES, STREAM, AlreadyThere, restore_table
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.errors import ErrorReply
from tests.builders import a_run
from tests.contract.kits.ministack_kit import Clients


@pytest.fixture
def table(ministack: Clients) -> str:
    name = f"restored-{secrets.token_hex(4)}"
    ministack.dynamodb.create_table(**table_arguments(name))
    backups: Any = {"PointInTimeRecoveryEnabled": True}
    ministack.dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=backups)
    return name


def test_a_restored_table_has_the_runs_and_all_that_dynamodb_does_not_restore(ministack: Clients, table: str) -> None:
    clock, client = SystemClock(), ministack.dynamodb
    run = a_run(clock).due_in(90).pending().stored_in(DynamoRunStore(client, table, clock))
    restored = restore_table(client, table, f"{table}-new", None, clock=clock, on_wait=print)
    assert DynamoRunStore(client, restored.name, clock).get(run.run_id) == run
    found = client.describe_table(TableName=restored.name)["Table"]
    assert {index["IndexName"] for index in found["GlobalSecondaryIndexes"]} == {one.name for one in schema.INDEXES}
    assert found["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": STREAM}
    assert restored.stream_arn == found["LatestStreamArn"]
    expiry = client.describe_time_to_live(TableName=restored.name)["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": schema.TTL_ATTRIBUTE}
    backups = client.describe_continuous_backups(TableName=restored.name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_an_interrupted_restore_can_be_given_again(ministack: Clients, table: str) -> None:
    first = restore_table(ministack.dynamodb, table, f"{table}-new", None, clock=SystemClock(), on_wait=print)
    assert restore_table(ministack.dynamodb, table, f"{table}-new", None, clock=SystemClock(), on_wait=print) == first


def test_a_table_that_does_not_exist_is_an_error(ministack: Clients) -> None:
    with pytest.raises((ClientError, ErrorReply), match="ResourceNotFound"):
        restore_table(ministack.dynamodb, "no-such-table", "new", None, clock=SystemClock(), on_wait=print)


class Slow:
    """A client of DynamoDB that refuses to turn on backups so many times, and tells of what a table was restored."""

    def __init__(self, client: Any, *, refusals: int = 0, summary: dict[str, Any] | None = None) -> None:
        self._client, self._refusals, self._summary = client, refusals, summary

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def describe_table(self, TableName: str) -> Any:  # noqa: N803 - as boto3 calls it
        reply = self._client.describe_table(TableName=TableName)
        return {"Table": {**reply["Table"], **({"RestoreSummary": self._summary} if self._summary else {})}}

    def update_continuous_backups(self, **arguments: Any) -> Any:
        self._refusals -= 1
        if self._refusals >= 0:
            code = "ContinuousBackupsUnavailableException"
            raise self.exceptions.ContinuousBackupsUnavailableException(
                {"Error": {"Code": code, "Message": "Backups are being enabled for the table"}}, "x"
            )
        return self._client.update_continuous_backups(**arguments)


@pytest.mark.parametrize("refusals", [1, BACKUP_TRIES])
def test_backups_are_turned_on_as_soon_as_dynamodb_allows_it(ministack: Clients, table: str, refusals: int) -> None:
    client: Any = Slow(ministack.dynamodb, refusals=refusals)
    restored = restore_table(client, table, f"{table}-new", None, clock=VirtualClock(), on_wait=print)
    backups = client.describe_continuous_backups(TableName=restored.name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_backups_that_stay_refused_are_an_error(ministack: Clients, table: str) -> None:
    client: Any = Slow(ministack.dynamodb, refusals=BACKUP_TRIES + 1)
    with pytest.raises(ClientError, match="ContinuousBackupsUnavailable"):
        restore_table(client, table, f"{table}-new", None, clock=VirtualClock(), on_wait=print)


def test_the_name_of_another_table_is_refused(ministack: Clients, table: str) -> None:
    client: Any = ministack.dynamodb
    with pytest.raises(AlreadyThere):
        restore_table(client, table, table, None, clock=SystemClock(), on_wait=print)
    first = datetime.now(UTC) - timedelta(seconds=1)
    arn = client.describe_table(TableName=table)["Table"]["TableArn"]
    restore_table(client, table, f"{table}-new", None, clock=SystemClock(), on_wait=print)
    for summary, at in (
        ({"SourceTableArn": arn, "RestoreDateTime": first}, first - timedelta(hours=1)),
        ({"SourceTableArn": f"{arn}x", "RestoreDateTime": first}, first),
    ):
        known: Any = Slow(client, summary=summary)
        with pytest.raises(AlreadyThere, match="give another name"):
            restore_table(known, table, f"{table}-new", at, clock=SystemClock(), on_wait=print)
    same: Any = Slow(client, summary={"SourceTableArn": arn, "RestoreDateTime": first})
    assert restore_table(same, table, f"{table}-new", first, clock=SystemClock(), on_wait=print).name == f"{table}-new"
