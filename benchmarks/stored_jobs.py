"""Store many jobs that are not due: copies of two real ones, spread over a month of slots and over all listings."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from benchmarks.common import TENANT, one_off, recurring
from onthedot.core.listing import ONE_OFF_PARTITIONS, STAMPING_PARTITIONS
from onthedot.core.records import Kind, Record
from onthedot.core.slots import BUCKET_MS
from onthedot.engine import Engine
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.sqlite.database import Database
from onthedot.jobs.submit import submit_job

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

DAY_MS: Final = 86_400_000
SPREAD_BUCKETS: Final = 30 * DAY_MS // BUCKET_MS
EVERY_FIFTH: Final = 5
"""Every fifth of the stored jobs recurs."""
_SCATTER: Final = 2_654_435_761
_ITEMS_PER_WRITE: Final = 25


def submit_templates(engine: Engine) -> tuple[Record, Record]:
    """Submit a one-off and a recurring job that are due tomorrow."""
    tomorrow = engine.clock.now() + DAY_MS
    return submit_job(engine, TENANT, one_off(tomorrow)), submit_job(engine, TENANT, recurring(0, tomorrow))


def fill_sqlite(database: Database, engine: Engine, count: int) -> None:
    """Store this many jobs."""
    for template, share, first in zip(submit_templates(engine), (EVERY_FIFTH - 1, 1), (0, count), strict=True):
        copy_rows(database, template, first, count * share // EVERY_FIFTH, sql_of_a_copy(engine.deployment.shards))


def copy_rows(database: Database, template: Record, first: int, count: int, changed: Mapping[str, str]) -> None:
    """Copy a stored record. SQLite itself makes the copies. `changed` has SQL for columns, with `i` from `first` on."""
    if not count:
        return
    with database.transaction() as connection:
        columns = [row["name"] for row in connection.execute("PRAGMA table_info(runs)")]
        values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
        names = ", ".join(f'"{name}"' for name in columns)
        connection.execute(
            f"INSERT INTO runs ({names}) WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n"  # noqa: S608 - names of columns only
            f" WHERE i + 1 < :end) SELECT {values} FROM n, runs WHERE run_id = :template",
            {"first": first, "end": first + count, "template": template.run_id},
        )


def sql_of_a_copy(shards: int, number: str = "i") -> dict[str, str]:
    """Return the SQL of the columns in which a copy differs. `number` is the SQL of the number in its id."""
    job_id = f"printf('job_%08x%018x', ({number} * {_SCATTER}) % 4294967296, {number})"
    later = f"(i % {SPREAD_BUCKETS}) * {BUCKET_MS} + i % {BUCKET_MS}"
    bucket = f"((fire_at + {later}) / {BUCKET_MS})"
    return {
        "run_id": job_id,
        "job_id": job_id,
        "fire_at": f"fire_at + {later}",
        "nominal_at": f"nominal_at + {later}",
        "created_at": "created_at + i",
        "slot": f"'fire#' || ((i / {SPREAD_BUCKETS} + i) % {shards}) || '#' || {bucket}",
        "listed_under": (
            f"tenant || CASE kind WHEN 'recurring' THEN '#r' || (i % {STAMPING_PARTITIONS})"
            f" ELSE '#' || (i % {ONE_OFF_PARTITIONS}) END"
        ),
    }


def fill_dynamodb(client: "DynamoDBClient", table: str, engine: Engine, count: int, threads: int = 2) -> None:
    """Store this many jobs by `BatchWriteItem`."""
    once, again = (_item(client, table, template.run_id) for template in submit_templates(engine))
    copies = (_copy(again if i % EVERY_FIFTH == 0 else once, i, engine.deployment.shards) for i in range(count))
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda batch: _write(client, table, batch), _batches(copies)):
            pass


def _item(client: "DynamoDBClient", table: str, run_id: str) -> dict[str, Any]:
    return dict(client.get_item(TableName=table, Key=run_key(run_id), ConsistentRead=True)["Item"])


def _copy(item: Mapping[str, Any], i: int, shards: int) -> dict[str, Any]:
    fire_at = int(item["fire_at"]["N"]) + i % SPREAD_BUCKETS * BUCKET_MS + i % BUCKET_MS
    return {
        **item,
        **run_key(f"job_{i * _SCATTER % 2**32:08x}{i:018x}"),
        "fire_at": {"N": str(fire_at)},
        "nominal_at": {"N": str(fire_at)},
        "created_at": {"N": str(int(item["created_at"]["N"]) + i)},
        "slot": {"S": f"fire#{(i // SPREAD_BUCKETS + i) % shards}#{fire_at // BUCKET_MS}"},
        "listed_under": {"S": _partition(item, i)},
    }


def _partition(item: Mapping[str, Any], i: int) -> str:
    is_recurring = item["kind"]["S"] == Kind.RECURRING
    return f"{TENANT}#r{i % STAMPING_PARTITIONS}" if is_recurring else f"{TENANT}#{i % ONE_OFF_PARTITIONS}"


def _batches(items: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(items, _ITEMS_PER_WRITE)):
        yield batch


def _write(client: "DynamoDBClient", table: str, items: list[dict[str, Any]]) -> None:
    pending: Any = {table: [{"PutRequest": {"Item": item}} for item in items]}
    while pending:
        pending = client.batch_write_item(RequestItems=pending)["UnprocessedItems"]
