"""The run queues in SQS: delayed messages by pool and priority, with the sending and the receiving side."""

import hashlib
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from onthedot.core import json_text
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Clock, Deadline, QueueCounts, Received, RunMessage
from onthedot.core.slots import dead_letters_url, queue_key
from onthedot.engines.aws.errors import ErrorReply, translated
from onthedot.engines.aws.leftovers import MESSAGES_PER_BATCH
from onthedot.engines.aws.sqs.sending import QueueSender
from onthedot.engines.message_format import FORMAT, FORMAT_FIELD, refuse_newer_message

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_LOG: Final = logging.getLogger(__name__)
LONGEST_DELAY_SECONDS: Final = 900
LONGEST_HIDING_SECONDS: Final = 12 * 3600
SHORT_POLL_SECONDS: Final = 4
"""The longest wait of one call. The clients of `wiring.aws` treat a connection as broken after 5 s without a reply."""
LONG_POLL_SECONDS: Final = 20
"""The longest wait that SQS allows, for a client that has a longer read timeout."""
# The message was deleted meanwhile, or another worker received it, so there is nothing to delete or hide.
_MESSAGE_IS_GONE: Final = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"})
_VISIBLE: Final = "ApproximateNumberOfMessages"
_DELAYED: Final = "ApproximateNumberOfMessagesDelayed"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_GROUP: Final = re.compile(r"[!-~]{1,128}")


class SqsRunQueues:
    """A `RunQueues` on one standard queue for each pool and priority. Fair queues use the tenant as message group.

    `cloudwatch` makes the client when a sweep first reads the age of a queue, which is seldom.
    """

    def __init__(
        self,
        client: "SQSClient",
        cloudwatch: "Callable[[], CloudWatchClient] | None",
        queue_urls: Mapping[str, str],
        clock: Clock,
        *,
        poll_seconds: int = SHORT_POLL_SECONDS,
    ) -> None:
        self._client = client
        self._cloudwatch = cloudwatch
        self._queue_urls = queue_urls
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._sender = QueueSender(client, clock, _entry)
        self._age_unknown = False

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        by_queue: dict[str, list[RunMessage]] = defaultdict(list)
        for message in messages:
            by_queue[queue_key(message.pool, message.priority)].append(message)
        return self._sender.send(self._queue_urls, by_queue, deadline)

    def visible(self, pool: str, priority: Priority) -> int:
        return self._numbers(pool, priority, self._url(pool, priority), _VISIBLE)[0]

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        url = self._url(pool, priority)
        visible, delayed, in_flight = self._numbers(pool, priority, url, _VISIBLE, _DELAYED, _IN_FLIGHT)
        [dead] = self._numbers(pool, priority, dead_letters_url(url), _VISIBLE)
        return QueueCounts(visible, delayed, in_flight, dead, url.rsplit("/", 1)[-1])

    def _numbers(self, pool: str, priority: Priority, url: str, *names: "QueueAttributeNameType") -> list[int]:
        with translated(f"queue {queue_key(pool, priority)}"):
            reply = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return [int(reply["Attributes"][name]) for name in names]

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Read the age from CloudWatch, its only source. The value is some minutes old.

        A CloudWatch that fails or denies is an unknown age. It is logged once until it answers again.
        """
        if self._cloudwatch is None:
            return None
        try:
            with translated("age"):
                age = self._read_age(self._cloudwatch(), self._url(pool, priority).rsplit("/", 1)[-1])
        except (ErrorReply, Unavailable) as error:
            if not self._age_unknown:
                _LOG.warning("age_unknown", extra={"queue": queue_key(pool, priority), "error": str(error)})
            self._age_unknown = True
            return None
        self._age_unknown = False
        return age

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """Wait in whole seconds, rounded up, and in several calls, each shorter than the client's read timeout."""
        url = self._url(pool, priority)
        for seconds in _polls(wait_ms, self._poll_seconds):
            with translated("receive"):
                reply = self._client.receive_message(
                    QueueUrl=url,
                    MaxNumberOfMessages=min(maximum, MESSAGES_PER_BATCH),
                    VisibilityTimeout=min(_whole_seconds(visibility_ms), LONGEST_HIDING_SECONDS),
                    WaitTimeSeconds=seconds,
                    MessageSystemAttributeNames=["ApproximateReceiveCount"],
                )
            read = (_received(message) for message in reply.get("Messages", []))
            if received := [one for one in read if one is not None]:
                return received
        return []

    def delete(self, received: Received) -> None:
        with _unless_gone("delete"):
            self._client.delete_message(QueueUrl=self._url_of(received), ReceiptHandle=received.receipt)

    def hide(self, received: Received, milliseconds: int) -> None:
        seconds = min(max(milliseconds // 1000, 0), LONGEST_HIDING_SECONDS)
        with _unless_gone("hide"):
            self._client.change_message_visibility(
                QueueUrl=self._url_of(received), ReceiptHandle=received.receipt, VisibilityTimeout=seconds
            )

    def _url_of(self, received: Received) -> str:
        return self._url(received.message.pool, received.message.priority)

    def _url(self, pool: str, priority: Priority) -> str:
        url = self._queue_urls.get(queue_key(pool, priority))
        if url is None:
            raise Unreachable(f"this stage has no queue {queue_key(pool, priority)}")
        return url

    def _read_age(self, cloudwatch: "CloudWatchClient", queue_name: str) -> int | None:
        end = datetime.fromtimestamp(self._clock.now() / 1000, UTC)
        metric = {
            "Namespace": "AWS/SQS",
            "MetricName": "ApproximateAgeOfOldestMessage",
            "Dimensions": [{"Name": "QueueName", "Value": queue_name}],
        }
        query: Any = {"Id": "age", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}
        reply = cloudwatch.get_metric_data(MetricDataQueries=[query], StartTime=end - timedelta(minutes=5), EndTime=end)
        values = [value for result in reply["MetricDataResults"] for value in result["Values"]]
        return int(values[0] * 1000) if values else None


@contextmanager
def _unless_gone(action: str) -> Iterator[None]:
    try:
        with translated(action):
            yield
    except ErrorReply as error:
        if error.code.rsplit(".", 1)[-1] not in _MESSAGE_IS_GONE:
            raise


def _polls(wait_ms: int, longest: int) -> list[int]:
    """Return the seconds that each call waits: a single 0 when the caller does not wait."""
    whole, rest = divmod(_whole_seconds(wait_ms), longest)
    return [longest] * whole + [rest] * (rest > 0 or whole == 0)


def _whole_seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


def _received(message: Any) -> Received | None:
    try:
        read = read_message(message["Body"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.error("unreadable_message", extra={"message_id": message["MessageId"], "why": repr(error)[:200]})
        return None
    return Received(read, message["ReceiptHandle"], int(message["Attributes"]["ApproximateReceiveCount"]))


def _entry(entry_id: str, message: RunMessage, now: int) -> dict[str, Any]:
    """Return an entry that arrives in the second before the fire time. The worker waits for the rest.

    SQS delays by whole seconds, so the delay is rounded down.
    """
    delay = min(max((message.due_at - now) // 1000, 0), LONGEST_DELAY_SECONDS)
    return {
        "Id": entry_id,
        "MessageBody": message_body(message),
        "DelaySeconds": delay,
        "MessageGroupId": _group(message.tenant),
    }


def _group(tenant: str) -> str:
    """Return the tenant as a message group. SQS would refuse a batch for a tenant with other characters."""
    return tenant if _GROUP.fullmatch(tenant) else hashlib.sha256(tenant.encode()).hexdigest()


def message_body(message: RunMessage) -> str:
    body = {
        FORMAT_FIELD: FORMAT,
        "run": message.run_id,
        "generation": message.generation,
        "fire_at": message.due_at,
        "tenant": message.tenant,
        "priority": message.priority,
        "pool": message.pool,
    }
    some = {"gates": message.gates, "woken": message.woken, "start_by": message.start_by, "trace": message.trace}
    return json_text.to_text({**body, **{name: value for name, value in some.items() if value not in (None, ())}})


def read_message(body: str) -> RunMessage:
    """Raise ValueError, KeyError or TypeError when the body is not our message, or is from a newer version."""
    fields = json.loads(body)
    refuse_newer_message(fields)
    return RunMessage(
        run_id=fields["run"],
        generation=fields["generation"],
        due_at=int(fields["fire_at"]),
        tenant=fields["tenant"],
        priority=Priority(fields["priority"]),
        pool=fields["pool"],
        gates=tuple(fields.get("gates", ())),
        woken=fields.get("woken"),
        trace=fields.get("trace"),
        start_by=None if fields.get("start_by") is None else int(fields["start_by"]),
    )
