"""The dead-letter queues of a stage, and the queue of events that cannot be used, for an operator to read."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock
from onthedot.engines.aws.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_LOG: Final = logging.getLogger(__name__)
LONGEST_MS: Final = 5_000
"""No further queue is asked after this time. The planner has 30 seconds, and one call may take half of them."""
_VISIBLE: Final = "ApproximateNumberOfMessages"


class SqsDeadLetters:
    def __init__(self, client: "SQSClient", urls: Sequence[str], clock: Clock) -> None:
        self._client = client
        self._urls = urls
        self._clock = clock

    def count(self) -> int:
        """Return how many messages are in all of them. A queue that cannot be asked is logged and left out."""
        until, total = self._clock.now() + LONGEST_MS, 0
        for number, url in enumerate(self._urls):
            if self._clock.now() > until:
                _LOG.warning("queues_not_asked", extra={"count": len(self._urls) - number})
                break
            total += self._visible(url)
        return total

    def _visible(self, url: str) -> int:
        try:
            with translated(f"count messages of {url}"):
                reply = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=[_VISIBLE])
        except Unavailable as error:
            _LOG.warning("queue_unavailable", extra={"queue": url, "error": str(error)})
            return 0
        return int(reply.get("Attributes", {}).get(_VISIBLE, 0))


QUEUE: Final = "events-dlq"
"""The name of the queue, after the base of the stage."""
LARGEST: Final = 250 * 1024
"""The most bytes of a message body: the limit of SQS, less some reserve."""


class SqsDeadEvents:
    """The sending side of the queue of events that cannot be used."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def put_away(self, event: Any, reason: str) -> None:
        """Send the event with the reason. Send only the envelope of an event that is too large.

        Raise Unavailable when SQS does not take it.
        """
        body = _dump({"reason": reason, "event": event})
        if len(body.encode()) > LARGEST:
            body = _dump({"reason": reason, "event": _envelope(event), "left_out": "detail"})
        with translated("put an event away"):
            self._client.send_message(QueueUrl=self._url, MessageBody=body)


def _envelope(event: Any) -> Any:
    if not isinstance(event, Mapping):
        return None
    return {name: value for name, value in event.items() if isinstance(value, str)}


def _dump(value: Any) -> str:
    # In ASCII, because an event that is put here may have characters that UTF-8 cannot encode.
    return json.dumps(value, separators=(",", ":"))
