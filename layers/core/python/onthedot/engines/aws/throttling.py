"""Count the calls that AWS throttles, for the metric `throttled`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from onthedot.core.ports import Observer

THROTTLED: Final = "throttled"
_PARTS: Final = ("Throttl", "ThroughputExceeded", "RequestLimitExceeded", "SlowDown", "TooManyRequests")


def throttle_counter(observer: Observer) -> Callable[[int, Mapping[str, Any]], None]:
    """Return a watcher of clients that counts each call, and each part of a batch, that AWS refused as too many.

    Clients try a call again by themselves. Only one that was throttled to the end is counted.
    """

    def note(_: int, reply: Mapping[str, Any]) -> None:
        if number := sum(any(part in code for part in _PARTS) for code in _codes(reply)):
            observer.add(THROTTLED, number)

    return note


def _codes(reply: Mapping[str, Any]) -> Iterator[str]:
    """Yield the error codes of a reply: of the whole call, of statements of a batch, of messages of a batch."""
    yield str(reply.get("Error", {}).get("Code", ""))
    responses = reply.get("Responses")
    if isinstance(responses, list):
        yield from (str(one.get("Error", {}).get("Code", "")) for one in responses)
    yield from (str(one.get("Code", "")) for one in reply.get("Failed", ()))
    if reply.get("UnprocessedItems") or reply.get("UnprocessedKeys"):
        yield "Throttled"  # DynamoDB returns the items of a batch that it had no capacity for
