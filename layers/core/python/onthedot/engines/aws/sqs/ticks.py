"""The tick queue in SQS."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.ports import Clock, Deadline, Tick
from onthedot.engines.aws.errors import translated
from onthedot.engines.aws.leftovers import retry_leftovers, tens
from onthedot.engines.message_format import FORMAT, FORMAT_FIELD, refuse_newer_message

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

QUEUE: Final = "tick"
"""The name of the queue, after the base of the stage."""
_PATIENCE_MS: Final = 10_000


class SqsTickQueue:
    def __init__(self, client: "SQSClient", url: str, clock: Clock) -> None:
        self._client = client
        self._url = url
        self._clock = clock

    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        deadline = Deadline.after(self._clock.now(), _PATIENCE_MS)
        return [tick for batch in tens(ticks) for tick in retry_leftovers(batch, self._send, self._clock, deadline)]

    def _send(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        entries: Any = [{"Id": str(n), "MessageBody": tick_body(tick)} for n, tick in enumerate(ticks)]
        with translated("send ticks"):
            reply = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        sent = {int(entry["Id"]) for entry in reply.get("Successful", [])}
        return [tick for number, tick in enumerate(ticks) if number not in sent]


def tick_body(tick: Tick) -> str:
    return json.dumps(
        {FORMAT_FIELD: FORMAT, "group": tick.group, "shards": list(tick.shards), "planned_at": tick.planned_at}
    )


def read_tick(body: str, message_id: str, receive_count: int) -> Tick:
    """Raise ValueError, KeyError or TypeError when the body is not a tick, or is from a newer version."""
    fields = json.loads(body)
    refuse_newer_message(fields)
    return Tick(
        group=int(fields["group"]),
        shards=tuple(int(shard) for shard in fields["shards"]),
        planned_at=int(fields["planned_at"]),
        tick_id=message_id,
        redelivered=receive_count > 1,
    )
