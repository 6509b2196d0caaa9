"""Records in DynamoDB. Every write is conditional, and every entry of a batch reply is checked."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.codec import Stored
from onthedot.core.errors import Unavailable, Unreadable, UnreadableRecord
from onthedot.core.ids import stamped_run_id
from onthedot.core.listing import ALWAYS, Window
from onthedot.core.moves import Move
from onthedot.core.ports import Clock, Deadline, ListEntry, Moved, Page, ReadRecords, Refused, SlotEntry, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.schema import DUE, PARTITION_KEY, RUN_PREFIX, SORT_KEY, may_be_record
from onthedot.core.slots import aside_slot, slot_shard
from onthedot.engines.aws.dynamodb.indexes import listed_jobs, page_of_failed
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import insert_statement, partiql_statement, to_attribute, update_item_arguments
from onthedot.engines.aws.dynamodb.records import to_entry, to_item, to_run
from onthedot.engines.aws.errors import TRANSIENT, ErrorReply, translated
from onthedot.engines.aws.leftovers import batches, retry_leftovers
from onthedot.engines.entries import read_each

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
STATEMENTS_PER_BATCH: Final = 25
BYTES_PER_BATCH: Final = 4 * 1024 * 1024
"""The most bytes of a batch of statements. AWS names no limit of its own, so this is that of its transactions."""
BYTES_PER_CHARACTER: Final = 12
"""The most bytes of a character in a request: JSON writes two escapes for a character beyond the first plane."""
KEYS_PER_BATCH: Final = 100
"""AWS answers with up to 16 MB and names the keys that are left, which are read by the next call."""
SLOT_PAGE: Final = 2_500
_READ_PATIENCE_MS: Final = 5_000
_INVALID: Final = "ValidationError"
_REJECTED: Final = "ValidationException"
_CONDITION_FAILED: Final = "ConditionalCheckFailedException"
_PERMANENT: Final = frozenset({_INVALID, _REJECTED, "ItemCollectionSizeLimitExceeded"})
_REFUSALS: Final = frozenset({"ConditionalCheckFailed", "DuplicateItem"})

Outcome = Moved | Refused | Undecided


class DynamoRunStore:
    """A `RunStore` on one table with its indexes of due runs, of jobs and of failed runs."""

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, slot_page: int = SLOT_PAGE) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._slot_page = slot_page

    def create(self, run: Record) -> Record | None:
        try:
            with translated("create"):
                self._client.put_item(
                    TableName=self._table,
                    Item=to_item(run),
                    ConditionExpression="attribute_not_exists(#pk)",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ErrorReply as error:
            return self._current(error, run.run_id)
        return None

    def get(self, run_id: str) -> Record | None:
        if not may_be_record(run_id):
            return None
        with translated("get"):
            reply = self._client.get_item(TableName=self._table, Key=run_key(run_id), ConsistentRead=True)
        return to_run(reply["Item"]) if "Item" in reply else None

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        found: dict[str, Record] = {}
        faulty: dict[str, Unreadable] = {}

        def attempt(pending: Sequence[str]) -> Sequence[str]:
            keys = [run_key(run_id) for run_id in pending]
            with translated("get_many"):
                reply = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys, "ConsistentRead": True}})
            runs, unreadable = read_each(reply["Responses"].get(self._table, []), to_run)
            found.update((run.run_id, run) for run in runs)
            faulty.update((one.run_id, one) for one in unreadable)
            unread: Mapping[str, Any] = reply["UnprocessedKeys"]
            return [run_id_of(key) for key in unread.get(self._table, {}).get("Keys", [])]

        # DynamoDB and IAM reject a whole batch for one key.
        possible = [run_id for run_id in dict.fromkeys(run_ids) if may_be_record(run_id)]
        wanted = batches(possible, KEYS_PER_BATCH)
        unread = [run_id for batch in wanted for run_id in retry_leftovers(batch, attempt, self._clock, deadline)]
        return ReadRecords(found, faulty, frozenset(unread))

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Outcome]:
        return self._execute_batches({r.run_id: insert_statement(to_item(r), self._table) for r in records}, deadline)

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(cursor)} if cursor else {}
        with translated("runs_of"):
            reply = self._client.query(
                TableName=self._table,
                **_runs_until(job_id, until),
                ScanIndexForward=False,
                ConsistentRead=True,
                Limit=limit,
                **start,
            )
        last = reply.get("LastEvaluatedKey")
        runs, faulty = read_each(reply["Items"], to_run)
        return Page(runs, json.dumps(last) if last else None, faulty)

    def move(self, move: Move) -> Moved | Refused:
        try:
            with translated("move"):
                reply = self._client.update_item(
                    TableName=self._table,
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **update_item_arguments(move),
                )
        except ErrorReply as error:
            return _refused(partial(self._current, error, move.run_id))
        return Moved(to_run(reply["Attributes"]))

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        values: dict[str, Stored] = {
            "slot": aside_slot(slot_shard(slot)),
            "aside_from": slot,
            "aside_since": now,
            "aside_why": why,
        }
        try:
            with translated("set aside"):
                self._client.update_item(
                    TableName=self._table,
                    Key=run_key(run_id),
                    UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
                    ConditionExpression="#slot = :from",
                    ExpressionAttributeNames={f"#{name}": name for name in values},
                    ExpressionAttributeValues={
                        ":from": to_attribute(slot),
                        **{f":{name}": to_attribute(value) for name, value in values.items()},
                    },
                )
        except ErrorReply as error:
            if error.code != _CONDITION_FAILED:
                raise
            return False
        return True

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Outcome]:
        statements = {move.run_id: partiql_statement(move, self._table) for move in moves}
        if len(statements) != len(moves):  # AWS rejects a whole batch that names an item twice
            raise ValueError("move_many takes moves on different runs")
        return self._execute_batches(statements, deadline)

    def _execute_batches(self, statements: Mapping[str, Any], deadline: Deadline) -> Sequence[Outcome]:
        """Execute one conditional statement for each run id. Repeat the statements whose failure may pass by itself.

        After the deadline no further batch begins. A refusal without its record (`DuplicateItem`) is completed by a
        batch read.
        """
        outcomes: dict[str, Outcome] = {}
        unnamed: list[str] = []

        def attempt(pending: Sequence[str]) -> Sequence[str]:
            answers = self._answers([statements[run_id] for run_id in pending])
            for run_id, answer in zip(pending, answers, strict=True):
                outcomes[run_id] = _outcome(run_id, answer)
                if outcomes[run_id] == Refused(None):
                    unnamed.append(run_id)
            return [run_id for run_id in pending if _may_pass(outcomes[run_id])]

        in_batches = batches(
            statements, STATEMENTS_PER_BATCH, BYTES_PER_BATCH, lambda run_id: _bytes(statements[run_id])
        )
        for number, batch in enumerate(in_batches):
            if number and not deadline.allows(self._clock.now()):
                break
            retry_leftovers(batch, attempt, self._clock, deadline)
        outcomes |= self._refusals(unnamed, deadline)
        return [outcomes.get(run_id, Undecided("no answer before the deadline")) for run_id in statements]

    def _refusals(self, run_ids: Sequence[str], deadline: Deadline) -> dict[str, Outcome]:
        """Read the records that refused writes, many in a call."""
        read = self.get_many(run_ids, deadline)
        late = Undecided("refused by a record that was not read before the deadline")
        refused = {run_id: Refused(read.found.get(run_id), read.unreadable.get(run_id)) for run_id in run_ids}
        return {**refused, **dict.fromkeys(read.unread, late)}

    def _answers(self, statements: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
        """Execute a batch and return one answer for each statement.

        DynamoDB rejects a whole batch for one statement that it cannot parse. Then each statement is executed alone.
        """
        try:
            with translated("batch"):
                return self._client.batch_execute_statement(Statements=statements)["Responses"]
        except ErrorReply as error:
            code = error.code
            if code == _REJECTED and len(statements) > 1:
                return [answer for statement in statements for answer in self._answers([statement])]
            return [{"Error": {"Code": code, "Message": str(error)}} for _ in statements]

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(cursor)} if cursor else {}
        with translated("read_slot"):
            reply = self._client.query(
                TableName=self._table,
                IndexName=DUE.name,
                KeyConditionExpression="#slot = :slot",
                ExpressionAttributeNames={"#slot": DUE.partition_key},
                ExpressionAttributeValues={":slot": {"S": slot}},
                Limit=min(limit or self._slot_page, self._slot_page),
                **start,
            )
        last = reply.get("LastEvaluatedKey")
        entries, faulty = read_each(reply["Items"], to_entry)
        return Page(entries, json.dumps(last) if last else None, faulty)

    def slots(self, cursor: str | None = None) -> Page[str]:
        start: dict[str, Any] = {"ExclusiveStartKey": json.loads(cursor)} if cursor else {}
        with translated("slots"):
            reply = self._client.scan(
                TableName=self._table,
                IndexName=DUE.name,
                ProjectionExpression="#slot",
                ExpressionAttributeNames={"#slot": DUE.partition_key},
                Limit=self._slot_page,
                **start,
            )
        last = reply.get("LastEvaluatedKey")
        return Page([item[DUE.partition_key]["S"] for item in reply["Items"]], json.dumps(last) if last else None)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        ids, further = page_of_failed(self._client, self._table, tenant, limit, cursor, window=window)
        read = self.get_many(ids, Deadline.after(self._clock.now(), _READ_PATIENCE_MS))
        if read.unread:  # a page without these runs would claim that they are not dead letters
            raise Unavailable(f"failed: {len(read.unread)} runs could not be read")
        known = [read.found[i] for i in ids if i in read.found]
        runs = [run for run in known if run.status is Status.FAILED and run.tenant == tenant]
        return Page(runs, further, [one for one in read.unreadable.values() if one.tenant == tenant])

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        return listed_jobs(self._client, self._table, partition, limit, after)

    def _current(self, error: ErrorReply, run_id: str) -> Record | None:
        """Return the record for which the condition failed. Raise any other error again."""
        if error.code != _CONDITION_FAILED:
            raise error
        item: Any = error.response.get("Item")
        return to_run(item) if item else self.get(run_id)


def _runs_until(job_id: str, until: int | None) -> dict[str, Any]:
    # BETWEEN includes its end. The id of an extra run goes on with "-" after its time, and "~" sorts behind that.
    last = {} if until is None else {":last": {"S": run_key(stamped_run_id(job_id, until))[SORT_KEY]["S"] + "~"}}
    condition = "begins_with(#sk, :run)" if until is None else "#sk BETWEEN :run AND :last"
    return {
        "KeyConditionExpression": f"#pk = :job AND {condition}",
        "ExpressionAttributeNames": {"#pk": PARTITION_KEY, "#sk": SORT_KEY},
        "ExpressionAttributeValues": {":job": {"S": job_id}, ":run": {"S": RUN_PREFIX}, **last},
    }


def _outcome(run_id: str, answer: Mapping[str, Any]) -> Outcome:
    """Return the outcome of one statement. A refusal of an insert does not have the record."""
    error = answer.get("Error")
    if error is None:
        return Moved(None)
    if error["Code"] in _REFUSALS:
        return _refused(lambda: to_run(error["Item"]) if error.get("Item") else None)
    if error["Code"] not in TRANSIENT:
        # One bad statement must not stop the other 24. It is logged, because otherwise it would look like a throttle.
        _LOG.error("statement_failed", extra={"run": run_id, "code": error["Code"]})
    return Undecided(f"{error['Code']}: {error.get('Message', '')}", permanent=error["Code"] in _PERMANENT)


def _refused(read: Callable[[], Record | None]) -> Refused:
    try:
        return Refused(read())
    except UnreadableRecord as error:
        return Refused(None, error.record)


def _may_pass(outcome: Outcome) -> bool:
    return isinstance(outcome, Undecided) and outcome.why.split(":")[0] in TRANSIENT


def _bytes(statement: Mapping[str, Any]) -> int:
    """Return the most bytes that a statement can need in a request. This is quicker than to encode it twice."""
    return BYTES_PER_CHARACTER * len(repr(statement))
