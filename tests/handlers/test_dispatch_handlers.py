"""The planner's and the dispatcher's events."""

import json
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Tick
from onthedot.core.shards import ShardStore
from onthedot.engines.store_around import announce
from onthedot.settings import DispatcherSettings, PlannerSettings
from tests.handlers.conftest import TABLE, Cloud, Context


def tick_event(body: str, receives: int = 1) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": str(receives)}
    return {"Records": [{"messageId": "m1", "body": body, "attributes": attributes}]}


TICK = json.dumps({"group": 0, "shards": [0, 1], "planned_at": 0})


@pytest.fixture
def dispatcher(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("dispatcher", DispatcherSettings(**cloud.store_settings))


def test_the_planner_sends_a_tick_for_each_group_of_shards(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    settings = PlannerSettings(stage="test", table=TABLE, shards=5, shards_per_group=2, queue_base=cloud.queue_base)
    assert load("planner", settings).handle({}, Context()) == {"ticks": 3}
    ticks = [json.loads(message["Body"]) for message in cloud.messages(cloud.tick_url)]
    assert sorted(tick["shards"] for tick in ticks) == [[0, 1], [2, 3], [4]]


def test_a_check_of_the_stage_that_breaks_does_not_fail_the_planner_whose_ticks_are_sent(
    cloud: Cloud, load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda would call a planner that fails once more, and send each tick twice."""
    settings = PlannerSettings(stage="test", table=TABLE, shards=2, shards_per_group=2, queue_base=cloud.queue_base)
    planner = load("planner", settings)

    def breaks() -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(planner, "is_time_to_check", lambda _: True)
    monkeypatch.setattr(planner._dead_letters, "count", breaks)
    assert planner.handle({}, Context()) == {"ticks": 1}


def test_the_planner_serves_the_shards_of_a_writer_that_has_more(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    settings = PlannerSettings(stage="test", table=TABLE, shards=2, shards_per_group=2, queue_base=cloud.queue_base)
    planner = load("planner", settings)
    announce(ShardStore(cloud.stored), 6, SystemClock().now())
    assert planner.handle({}, Context()) == {"ticks": 3}


def test_a_planner_that_may_not_read_the_table_goes_on(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    settings = PlannerSettings(stage="test", table="gone", shards=4, shards_per_group=2, queue_base=cloud.queue_base)
    assert load("planner", settings).handle({}, Context()) == {"ticks": 2}


def test_a_tick_with_nothing_due_is_done_and_leaves_progress(dispatcher: ModuleType, cloud: Cloud) -> None:
    assert dispatcher.handle(tick_event(TICK), Context()) == {"batchItemFailures": []}
    assert [item["pk"]["S"] for item in cloud.items()] == ["progress#0", "progress#1"]


def test_a_tick_that_could_not_send_all_is_given_back(dispatcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "dispatch_due", lambda *_: Counter(sent=3, unsent=1))
    assert dispatcher.handle(tick_event(TICK), Context()) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}


def test_a_tick_that_ran_out_of_time_is_continued_at_once(
    dispatcher: ModuleType, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "dispatch_due", lambda *_: Counter(out_of_time=1))
    assert dispatcher.handle(tick_event(TICK), Context()) == {"batchItemFailures": []}
    (message,) = cloud.messages(cloud.tick_url)
    assert json.loads(message["Body"])["shards"] == [0, 1]


def test_a_second_delivery_is_known_as_one(dispatcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tick] = []

    def dispatch_due(_: object, __: object, tick: Tick, ___: object) -> Counter[str]:
        seen.append(tick)
        return Counter()

    monkeypatch.setattr(dispatcher, "dispatch_due", dispatch_due)
    dispatcher.handle(tick_event(TICK, 1), Context())
    dispatcher.handle(tick_event(TICK, 2), Context())
    assert [(tick.tick_id, tick.redelivered) for tick in seen] == [("m1", False), ("m1", True)]


def test_a_tick_that_fails_stops_no_other(dispatcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def dispatch_due(_: object, __: object, tick: Tick, ___: object) -> Counter[str]:
        if tick.group == 1:
            raise Unavailable("the table")
        done.append(tick.group)
        return Counter()

    monkeypatch.setattr(dispatcher, "dispatch_due", dispatch_due)
    bodies = [json.dumps({"group": group, "shards": [group], "planned_at": 0}) for group in range(3)]
    records = [tick_event(body)["Records"][0] | {"messageId": f"m{n}"} for n, body in enumerate(["{}", *bodies])]

    answer = dispatcher.handle({"Records": records}, Context())

    assert done == [0, 2]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}, {"itemIdentifier": "m2"}]}


def test_what_is_no_tick_fails_and_ends_in_the_dead_letter_queue(dispatcher: ModuleType) -> None:
    with pytest.raises(KeyError):
        dispatcher.handle(tick_event("{}"), Context())
