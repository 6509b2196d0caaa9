"""Events in and out, and the counting of ends: who hears the bus and the stream, and what becomes of what fails."""

import json
from typing import Any

from onthedot.core.records import TERMINAL
from onthedot.engines.aws.dynamodb.records import to_item
from tests.builders import VirtualClock, a_run
from tests.infra.kit import Assembly, resolve


def rule(assembly: Assembly, name: str) -> dict[str, Any]:
    return assembly.named("AWS::Events::Rule", "Name", name)


def publishing(assembly: Assembly) -> dict[str, Any]:
    return _source(assembly, "<PublisherFunction")


def _source(assembly: Assembly, function: str) -> dict[str, Any]:
    sources = assembly.properties("AWS::Lambda::EventSourceMapping", "events")
    [found] = [source for source in sources if resolve(source["FunctionName"]).startswith(function)]
    return found


def test_everything_on_the_bus_is_heard_but_for_what_we_tell_ourselves(prod: Assembly) -> None:
    heard = rule(prod, "events-in")
    assert heard["EventPattern"] == {"source": [{"anything-but": ["onthedot"]}]}
    assert resolve(heard["EventBusName"]).startswith("<Bus")
    assert [resolve(target["Arn"]).startswith("<EventsFunction") for target in heard["Targets"]] == [True]


def test_uploads_to_the_named_buckets_are_heard_on_the_default_bus(prod: Assembly, fargate: Assembly) -> None:
    uploads = rule(prod, "uploads")
    assert "EventBusName" not in uploads
    assert uploads["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": ["shop-uploads", "shop-exports"]}},
    }
    assert resolve(uploads["Targets"][0]["Arn"]).startswith("<EventsFunction")
    assert [one["Name"] for one in fargate.properties("AWS::Events::Rule")] == ["onthedot-prod-events-in"]


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


def test_a_stage_that_publishes_all_is_woken_for_every_change_of_a_job_or_run(other: Assembly, prod: Assembly) -> None:
    from stacks.events_stack import published_changes

    [wanted] = publishing(other)["FilterCriteria"]["Filters"]
    assert json.loads(wanted["Pattern"]) == published_changes(every_change=True)
    own = {"tenant": {"S": [{"anything-but": ["onthedot"]}]}}
    assert published_changes(every_change=True)["dynamodb"]["NewImage"] == own
    for assembly, word in ((other, "true"), (prod, "false")):
        told = assembly.variables("publisher")
        assert (told["ONTHEDOT_EVERY_CHANGE"], told["ONTHEDOT_WITH_RESULTS"]) == (word, word)


def test_whose_jobs_hear_the_bus(prod: Assembly, local: Assembly, other: Assembly) -> None:
    # `make up` makes its token for the tenant `local`.
    heard = [assembly.variables("events")["ONTHEDOT_BUS_TENANT"] for assembly in (prod, local, other)]
    assert heard == ["default", "local", "acme"]


def counting(assembly: Assembly) -> dict[str, Any]:
    return _source(assembly, "<StatisticsFunction")


def test_statistics_are_woken_by_changes_that_end_a_run_only(prod: Assembly) -> None:
    patterns = [json.loads(one["Pattern"]) for one in counting(prod)["FilterCriteria"]["Filters"]]
    created, ended, grown = patterns
    ends = ["CANCELLED", "FAILED", "SKIPPED", "SUCCEEDED"]
    assert created["dynamodb"]["NewImage"]["status"] == {"S": ends}
    assert ended["dynamodb"]["OldImage"]["status"] == {"S": [{"anything-but": ends}]}
    assert ended["dynamodb"]["NewImage"]["kind"] == {"S": ["one-off", "skipped", "stamped"]}
    assert grown["dynamodb"]["NewImage"]["kind"] == {"S": ["skipped"]}
    stored = to_item(a_run(VirtualClock()).build())
    for pattern in patterns:
        assert pattern["dynamodb"]["NewImage"]["tenant"] == {"S": [{"anything-but": ["onthedot"]}]}
        assert pattern["dynamodb"]["NewImage"].keys() <= stored.keys()


def test_batches_of_ends_of_one_shard_come_one_after_another_and_name_it(prod: Assembly) -> None:
    """Else the position of the last counted change would not say that all changes before it are counted."""
    found = counting(prod)
    assert (found["ParallelizationFactor"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == (1, 1000, 5)
    assert "FunctionResponseTypes" not in found
    assert found["TumblingWindowInSeconds"] == 900, "only with a window does a batch name its shard"


def test_two_functions_read_the_whole_stream_and_no_poison_blocks_it(prod: Assembly) -> None:
    """DynamoDB throttles a third reader of a shard."""
    table = prod.named("AWS::DynamoDB::Table", "TableName", "jobs")
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    sources = prod.properties("AWS::Lambda::EventSourceMapping")
    of_stream = [one for one in sources if "StreamArn" in resolve(one["EventSourceArn"])]
    # Changes that were written before the first deployment are read too.
    assert [one["StartingPosition"] for one in of_stream] == ["TRIM_HORIZON", "TRIM_HORIZON"]
    publisher = publishing(prod)
    assert publisher["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (publisher["BisectBatchOnFunctionError"], publisher["ParallelizationFactor"]) == (True, 4)
