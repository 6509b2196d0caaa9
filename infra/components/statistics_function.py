"""The function that counts the ends of runs, and its source: the table's stream, filtered to changes that end a run."""

from collections.abc import Iterator
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from components.dead_letters import dead_letter_queue
from components.scheduler_function import FunctionFactory, FunctionShape
from components.worker_grants import counting_ends
from onthedot import schema
from onthedot.core.keys import JOB_SORT_KEY, RUN_PREFIX
from onthedot.domain.access import RESERVED_TENANT
from onthedot.domain.runs.records import Kind
from onthedot.domain.statistics.ends import ENDED, RUNS
from onthedot.settings import StatisticsSettings
from stacks.data_stack import DataStack
from stage_config import StageConfig

STATISTICS: Final = FunctionShape(memory_mb=256, timeout=Duration.seconds(60))
BATCH: Final = 1_000
# Ends of these seconds share a write for each tenant and minute. Statistics are that much behind.
BATCHING: Final = Duration.seconds(5)
# The function keeps no state. Only a source with a tumbling window names the shard of a batch. At the end of a window
# Lambda calls once more, so the windows are as long as they can be.
WINDOW: Final = Duration.minutes(15)
RETRIES: Final = 100
MAX_AGE: Final = Duration.hours(12)


def statistics_function(
    scope: Construct, config: StageConfig, data: DataStack, functions: FunctionFactory
) -> lambda_.Function:
    """Make the function. It may write counters, and nothing else."""
    settings = StatisticsSettings(stage=config.stage, table=data.table.table_name)
    function = functions.make("statistics", settings, STATISTICS)
    function.add_to_role_policy(counting_ends(data))
    dead_letters = dead_letter_queue(scope, config, "statistics-dlq")
    function.add_event_source(
        event_sources.DynamoEventSource(
            data.table,
            # Ends before the first deployment of the function, as far as the stream has them, are counted too.
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=BATCH,
            max_batching_window=BATCHING,
            tumbling_window=WINDOW,
            # One batch of a shard at a time: the position in the counters says that all changes before are counted.
            parallelization_factor=1,
            filters=[lambda_.FilterCriteria.filter(pattern) for pattern in ended_runs()],
            retry_attempts=RETRIES,
            max_record_age=MAX_AGE,
            on_failure=event_sources.SqsDlq(dead_letters),
        )
    )
    return function


def ended_runs() -> Iterator[dict[str, Any]]:
    """Yield the filters of the stream. A change that passes one of them may end a run.

    A run is created as ended, or its status becomes that of an end, or a skipped range grows. The stage's own jobs are
    left out: no token can be made for their tenant, so no caller could read their counters, and an idle stage makes no
    call.
    """
    ended = {"status": {"S": sorted(ENDED)}}
    others = {"status": {"S": [{"anything-but": sorted(ENDED)}]}}
    runs = {"kind": {"S": sorted(RUNS)}}
    yield _pattern("INSERT", {**runs, **ended})
    yield _pattern("MODIFY", {**runs, **ended}, others)
    yield _pattern("MODIFY", {"kind": {"S": [Kind.SKIPPED_RANGE.value]}})


def _pattern(event: str, new: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    keys = {schema.SORT_KEY: {"S": [JOB_SORT_KEY, {"prefix": RUN_PREFIX}]}}
    image = {"tenant": {"S": [{"anything-but": [RESERVED_TENANT]}]}, **new}
    images = {"NewImage": image, **({} if old is None else {"OldImage": old})}
    return {"eventName": [event], "dynamodb": {"Keys": keys, **images}}
