"""A queue of events that cannot be used, each with the reason, for an operator to read."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from onthedot.engines.aws.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

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
