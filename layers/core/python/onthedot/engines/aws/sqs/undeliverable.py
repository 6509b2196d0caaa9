"""Count the messages in the dead-letter queues of a stage."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

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
