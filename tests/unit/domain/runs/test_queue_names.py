"""The URLs of queues, derived from the pools."""

from onthedot.core.pools import DEFAULT_POOLS
from onthedot.core.slots import queue_urls

BASE = "https://sqs.eu-west-1.amazonaws.com/123456789012/onthedot-prod-"


def test_every_pool_and_priority_has_a_url_also_where_one_queue_serves_all() -> None:
    urls = queue_urls(BASE, DEFAULT_POOLS)
    assert len(urls) == 9
    assert urls["default-high"] == BASE + "default-high"
    assert {urls[f"long-{priority}"] for priority in ("high", "medium", "low")} == {BASE + "long"}
    assert len(set(urls.values())) == 7
