"""Events in and out, and the counting of ends: who hears the bus and the stream, and what becomes of what fails."""

import json
from typing import Any

import pytest

from onthedot.core.records import TERMINAL
from onthedot.engines.aws.dynamodb.records import to_item
from tests.infra.kit import Assembly, resolve


def rule(assembly: Assembly, name: str) -> dict[str, Any]:
    return assembly.named("AWS::Events::Rule", "Name", name)


def publishing(assembly: Assembly) -> dict[str, Any]:
    return _source(assembly, "<PublisherFunction")


def _source(assembly: Assembly, function: str) -> dict[str, Any]:
    sources = assembly.properties("AWS::Lambda::EventSourceMapping", "events")
    [found] = [source for source in sources if resolve(source["FunctionName"]).startswith(function)]
    return found


def environment(assembly: Assembly, name: str) -> dict[str, str]:
    made = assembly.named("AWS::Lambda::Function", "FunctionName", name)
    return {variable: resolve(value) for variable, value in made["Environment"]["Variables"].items()}


def test_the_bus_has_the_name_of_its_stage_which_is_an_output(prod: Assembly) -> None:
    [bus] = prod.properties("AWS::Events::EventBus")
    assert bus["Name"] == "onthedot-prod"
    assert resolve(prod.template("events")["Outputs"]["BusName"]["Value"]).startswith("<Bus")


def test_everything_on_the_bus_is_heard_but_for_what_we_tell_ourselves(prod: Assembly) -> None:
    heard = rule(prod, "events-in")
    assert heard["EventPattern"] == {"source": [{"anything-but": ["onthedot"]}]}
    assert resolve(heard["EventBusName"]).startswith("<Bus")
    assert [resolve(target["Arn"]).startswith("<EventsFunction") for target in heard["Targets"]] == [True]


def test_uploads_to_the_named_buckets_are_heard_on_the_default_bus(prod: Assembly) -> None:
    uploads = rule(prod, "uploads")
    assert "EventBusName" not in uploads
    assert uploads["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": ["shop-uploads", "shop-exports"]}},
    }
    assert resolve(uploads["Targets"][0]["Arn"]).startswith("<EventsFunction")


def test_without_such_buckets_there_is_no_rule_on_the_default_bus(fargate: Assembly) -> None:
    assert {properties["Name"] for properties in fargate.properties("AWS::Events::Rule")} == {"onthedot-prod-events-in"}


@pytest.mark.parametrize("name", ["events-in", "uploads"])
def test_an_event_that_cannot_be_handed_over_is_tried_again_and_ends_in_the_dead_letter_queue(
    prod: Assembly, name: str
) -> None:
    [target] = rule(prod, name)["Targets"]
    assert resolve(target["DeadLetterConfig"]["Arn"]).startswith("<EventsDlqQueue")
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 6 * 3600, "MaximumRetryAttempts": 2}


def test_the_rules_may_write_to_that_queue(prod: Assembly) -> None:
    [policy] = [
        p
        for p in prod.properties("AWS::SQS::QueuePolicy", "events")
        if resolve(p["Queues"][0]).startswith("<EventsDlqQueue")
    ]
    allowed = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
    assert {s["Principal"]["Service"] for s in allowed} == {"events.amazonaws.com"}
    sources = {
        resolve(s["Condition"]["ArnEquals"]["aws:SourceArn"]).split(".")[0].rstrip("0123456789ABCDEF") for s in allowed
    }
    assert sources == {"<AllButOurs", "<Uploads"}


def test_a_function_that_fails_on_an_event_is_tried_again_before_the_event_is_a_dead_letter(prod: Assembly) -> None:
    [config] = prod.properties("AWS::Lambda::EventInvokeConfig", "events")
    assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (2, 6 * 3600)
    assert resolve(config["DestinationConfig"]["OnFailure"]["Destination"]).startswith("<EventsDlqQueue")


def test_the_table_tells_what_changed_with_what_was_before(prod: Assembly) -> None:
    table = prod.named("AWS::DynamoDB::Table", "TableName", "jobs")
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert "StreamArn" in resolve(publishing(prod)["EventSourceArn"])


def test_the_publisher_is_woken_for_ends_of_jobs_and_runs_only(prod: Assembly) -> None:
    [wanted] = publishing(prod)["FilterCriteria"]["Filters"]
    assert json.loads(wanted["Pattern"]) == {
        "eventName": ["INSERT", "MODIFY"],
        "dynamodb": {
            "Keys": {"sk": {"S": ["job", {"prefix": "run#"}]}},
            "NewImage": {
                "tenant": {"S": [{"anything-but": ["onthedot"]}]},
                "status": {"S": sorted(status.value for status in TERMINAL)},
            },
        },
    }


def test_a_stage_that_publishes_all_is_woken_for_every_change_of_a_job_or_run(other: Assembly) -> None:
    from stacks.events_stack import published_changes

    [wanted] = publishing(other)["FilterCriteria"]["Filters"]
    assert json.loads(wanted["Pattern"]) == published_changes(every_change=True)
    own = {"tenant": {"S": [{"anything-but": ["onthedot"]}]}}
    assert published_changes(every_change=True)["dynamodb"]["NewImage"] == own
    told = environment(other, "publisher")
    assert (told["ONTHEDOT_EVERY_CHANGE"], told["ONTHEDOT_WITH_RESULTS"]) == ("true", "true")
    assert environment(other, "events")["ONTHEDOT_BUS_TENANT"] == "acme"


def test_by_default_only_ends_are_published_and_no_contents(prod: Assembly) -> None:
    told = environment(prod, "publisher")
    assert (told["ONTHEDOT_EVERY_CHANGE"], told["ONTHEDOT_WITH_RESULTS"]) == ("false", "false")


def test_a_batch_that_fails_in_part_is_repeated_from_there_and_no_poison_blocks_the_stream(prod: Assembly) -> None:
    source = publishing(prod)
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["BisectBatchOnFunctionError"] is True
    assert (source["MaximumRetryAttempts"], source["MaximumRecordAgeInSeconds"]) == (100, 12 * 3600)
    assert resolve(source["DestinationConfig"]["OnFailure"]["Destination"]).startswith("<PublisherDlqQueue")
    # Changes that were written before the first deployment of the publisher are published too.
    assert (source["StartingPosition"], source["ParallelizationFactor"]) == ("TRIM_HORIZON", 4)


def test_whose_jobs_hear_the_bus(prod: Assembly, local: Assembly) -> None:
    assert environment(prod, "events")["ONTHEDOT_BUS_TENANT"] == "default"
    # `make up` makes its token for this tenant.
    assert environment(local, "events")["ONTHEDOT_BUS_TENANT"] == "local"


def counting(assembly: Assembly) -> dict[str, Any]:
    return _source(assembly, "<StatisticsFunction")


def patterns_of(assembly: Assembly) -> list[Any]:
    return [json.loads(one["Pattern"]) for one in counting(assembly)["FilterCriteria"]["Filters"]]


def test_statistics_are_woken_by_changes_that_end_a_run_only(prod: Assembly) -> None:
    patterns = patterns_of(prod)
    created, ended, grown = patterns
    ends = ["CANCELLED", "FAILED", "SKIPPED", "SUCCEEDED"]
    assert created["dynamodb"]["NewImage"]["status"] == {"S": ends}
    assert ended["dynamodb"]["OldImage"]["status"] == {"S": [{"anything-but": ends}]}
    assert ended["dynamodb"]["NewImage"]["kind"] == {"S": ["one-off", "skipped", "stamped"]}
    assert grown["dynamodb"]["NewImage"]["kind"] == {"S": ["skipped"]}


def test_the_own_jobs_of_the_stage_do_not_wake_statistics(prod: Assembly) -> None:
    for pattern in patterns_of(prod):
        assert pattern["dynamodb"]["NewImage"]["tenant"] == {"S": [{"anything-but": ["onthedot"]}]}


def test_each_attribute_of_the_filters_is_stored(prod: Assembly) -> None:
    from tests.builders import VirtualClock, a_run

    stored = to_item(a_run(VirtualClock()).build())
    for pattern in patterns_of(prod):
        assert pattern["dynamodb"]["NewImage"].keys() <= stored.keys()


def test_a_batch_names_its_shard_because_the_source_has_a_tumbling_window(prod: Assembly) -> None:
    assert counting(prod)["TumblingWindowInSeconds"] == 900


def test_batches_of_ends_of_one_shard_come_one_after_another(prod: Assembly) -> None:
    """Else the position of the last counted change would not say that all changes before it are counted."""
    found = counting(prod)
    assert (found["ParallelizationFactor"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == (1, 1000, 5)
    assert "FunctionResponseTypes" not in found


def test_a_batch_of_ends_that_fails_for_half_a_day_is_a_dead_letter(prod: Assembly) -> None:
    found = counting(prod)
    assert (found["MaximumRetryAttempts"], found["MaximumRecordAgeInSeconds"]) == (100, 12 * 3600)
    assert resolve(found["DestinationConfig"]["OnFailure"]["Destination"]).startswith("<StatisticsDlqQueue")
    assert found["StartingPosition"] == "TRIM_HORIZON"


def test_no_more_than_two_functions_read_the_stream(prod: Assembly) -> None:
    """DynamoDB throttles a third reader of a shard."""
    sources = prod.properties("AWS::Lambda::EventSourceMapping")
    assert sum("StreamArn" in resolve(one["EventSourceArn"]) for one in sources) == 2
