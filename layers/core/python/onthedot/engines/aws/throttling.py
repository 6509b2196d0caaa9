"""Count the calls that AWS throttles, for the metric `throttled`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onthedot.core.ports import Observer

THROTTLED: Final = "throttled"
_PARTS: Final = ("Throttl", "ThroughputExceeded", "RequestLimitExceeded", "SlowDown", "TooManyRequests")


def count_throttling(client: Any, observer: Observer) -> None:
    """Count each call of a boto3 client, and each part of a batch, that AWS refused because there were too many.

    boto3 tries a call again by itself. Only one that was throttled to the end is counted.
    """

    def note(parsed: Mapping[str, Any], **_: Any) -> None:
        if number := sum(any(part in code for part in _PARTS) for code in _codes(parsed)):
            observer.add(THROTTLED, number)

    client.meta.events.register("after-call", note)


def _codes(parsed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the error codes of a reply: of the whole call, of statements of a batch, of messages of a batch."""
    yield str(parsed.get("Error", {}).get("Code", ""))
    responses = parsed.get("Responses")
    if isinstance(responses, list):
        yield from (str(one.get("Error", {}).get("Code", "")) for one in responses)
    yield from (str(one.get("Code", "")) for one in parsed.get("Failed", ()))
    if parsed.get("UnprocessedItems") or parsed.get("UnprocessedKeys"):
        yield "Throttled"  # DynamoDB returns the items of a batch that it had no capacity for
