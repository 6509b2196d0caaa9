"""The function that counts the ends of runs: what wakes it, what it may write, and what becomes of a failing batch."""

import json
from typing import Any

from onthedot.core.keys import STATISTICS_PREFIX
from onthedot.engines.aws.dynamodb.records import to_item
from tests.infra.kit import Assembly, resolve, statements_of


def source(assembly: Assembly) -> dict[str, Any]:
    sources = assembly.properties("AWS::Lambda::EventSourceMapping", "events")
    [found] = [one for one in sources if resolve(one["FunctionName"]).startswith("<StatisticsFunction")]
    return found


def patterns_of(assembly: Assembly) -> list[Any]:
    return [json.loads(one["Pattern"]) for one in source(assembly)["FilterCriteria"]["Filters"]]


def test_it_is_woken_by_changes_that_end_a_run_only(prod: Assembly) -> None:
    patterns = patterns_of(prod)
    created, ended, grown = patterns
    ends = ["CANCELLED", "FAILED", "SKIPPED", "SUCCEEDED"]
    assert created["dynamodb"]["NewImage"]["status"] == {"S": ends}
    assert ended["dynamodb"]["OldImage"]["status"] == {"S": [{"anything-but": ends}]}
    assert ended["dynamodb"]["NewImage"]["kind"] == {"S": ["one-off", "skipped", "stamped"]}
    assert grown["dynamodb"]["NewImage"]["kind"] == {"S": ["skipped"]}


def test_the_own_jobs_of_the_stage_do_not_wake_it(prod: Assembly) -> None:
    for pattern in patterns_of(prod):
        assert pattern["dynamodb"]["NewImage"]["tenant"] == {"S": [{"anything-but": ["onthedot"]}]}


def test_each_attribute_of_the_filters_is_stored(prod: Assembly) -> None:
    from tests.builders import VirtualClock, a_run

    stored = to_item(a_run(VirtualClock()).build())
    for pattern in patterns_of(prod):
        assert pattern["dynamodb"]["NewImage"].keys() <= stored.keys()


def test_a_batch_names_its_shard_because_the_source_has_a_tumbling_window(prod: Assembly) -> None:
    assert source(prod)["TumblingWindowInSeconds"] == 900


def test_batches_of_one_shard_come_one_after_another(prod: Assembly) -> None:
    """Else the position of the last counted change would not say that all changes before it are counted."""
    found = source(prod)
    assert (found["ParallelizationFactor"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == (1, 1000, 5)
    assert "FunctionResponseTypes" not in found


def test_a_batch_that_fails_for_half_a_day_is_a_dead_letter(prod: Assembly) -> None:
    found = source(prod)
    assert (found["MaximumRetryAttempts"], found["MaximumRecordAgeInSeconds"]) == (100, 12 * 3600)
    assert resolve(found["DestinationConfig"]["OnFailure"]["Destination"]).startswith("<StatisticsDlqQueue")
    assert found["StartingPosition"] == "TRIM_HORIZON"


def test_the_statistics_function_may_write_counters_only(prod: Assembly) -> None:
    function = prod.named("AWS::Lambda::Function", "FunctionName", "statistics")
    statements = statements_of(prod, function["Role"]["Fn::GetAtt"][0])
    [writing] = [one for one in statements if "dynamodb:UpdateItem" in one["Action"] and one["Effect"] == "Allow"]
    assert writing["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{STATISTICS_PREFIX}*"]}}


def test_no_more_than_two_functions_read_the_stream(prod: Assembly) -> None:
    """DynamoDB throttles a third reader of a shard."""
    sources = prod.properties("AWS::Lambda::EventSourceMapping")
    assert sum("StreamArn" in resolve(one["EventSourceArn"]) for one in sources) == 2
