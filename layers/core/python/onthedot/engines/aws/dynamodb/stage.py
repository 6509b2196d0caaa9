"""The state of the stage, as one item of the table."""

from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.errors import Unavailable
from onthedot.domain.transfer import stage_state
from onthedot.domain.transfer.stage_state import StageState
from onthedot.engines.aws.dynamodb.formats import refuse_newer_item
from onthedot.engines.aws.dynamodb.keys import stage_key
from onthedot.engines.aws.errors import error_code, translated
from onthedot.engines.freezing import KnownStage
from onthedot.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KNOWN_MS: Final = 5_000
"""Hundreds of processes read this one item."""
SETTLE_MS: Final = 90_000
"""No process that goes by the state before writes any more: it is known for 30 s at most, a batch of moves is tried for
30 s at most, and its last call takes 20 s at most."""


class DynamoStage:
    """The state as one item. It is in the partition of the number of shards, which all parts may read."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def fresh(self) -> StageState:
        return _state(self._read_text())

    def replace(self, seen: StageState, state: StageState) -> bool:
        # The condition is on the stored text. Another version may write the same state as another text.
        before = self._read_text()
        if _state(before) != seen:
            return False
        texts = {":state": stage_state.to_text(state), **({":before": before} if before else {})}
        try:
            with translated("replace the state of the stage"):
                self._client.update_item(
                    TableName=self._table,
                    Key=stage_key(),
                    UpdateExpression="SET #state = :state",
                    ConditionExpression="#state = :before" if before else "attribute_not_exists(#state)",
                    ExpressionAttributeNames={"#state": "stage_state"},
                    ExpressionAttributeValues={name: {"S": text} for name, text in texts.items()},
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def _read_text(self) -> str | None:
        with translated("read the state of the stage"):
            reply: Any = self._client.get_item(TableName=self._table, Key=stage_key(), ConsistentRead=True)
        if "Item" not in reply:
            return None
        refuse_newer_item(reply["Item"], "the state of the stage")
        return str(reply["Item"]["stage_state"]["S"])


def known_stage(client: "DynamoDBClient", table: str, clock: Clock) -> KnownStage:
    """Return the state of the stage as a process knows it."""
    return KnownStage(DynamoStage(client, table), clock, known_ms=KNOWN_MS, settle_ms=SETTLE_MS)


def _state(text: str | None) -> StageState:
    if text is None:
        return StageState()
    try:
        return stage_state.from_text(text)
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"the state of the stage cannot be read: {error}") from error
