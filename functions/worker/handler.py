"""Execute a batch of messages side by side, each run at the millisecond at which it is due."""

import os
import random
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from onthedot.domain.errors import Unavailable
from onthedot.engines.aws.sqs.queues import read_message
from onthedot.observability import emit, logger
from onthedot.ports import Received, RunMessage
from onthedot.settings import WorkerSettings
from onthedot.use_cases.attempts.execute_run import RunExecutor, execute_run
from onthedot.use_cases.attempts.start_run import Done, Verdict
from onthedot.use_cases.attempts.store_leases import StoreLeases
from onthedot.wiring.aws import worker_engine
from onthedot.wiring.workers import push_targets

_log = logger("worker")


def _log_next(message: RunMessage, verdict: Verdict) -> None:
    _log.info("executed_next", extra={"run": message.run_id, "verdict": repr(verdict)})


_settings = WorkerSettings.from_environment(os.environ)
_engine = worker_engine(_settings)
_queues = _engine.queues
_executor = RunExecutor(
    engine=_engine,
    performer=push_targets(_settings, _engine),
    leases=StoreLeases(_engine.store, _engine.clock),
    worker_id=f"lambda-{uuid.uuid4().hex[:8]}",
    chance=random.Random(),  # noqa: S311 (jitter of retries, not a secret)
    on_next=_log_next,
)
_pool = ThreadPoolExecutor(max_workers=10, thread_name_prefix="run")


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Execute the batch. Report messages that are still needed as failed, so that SQS keeps them."""
    # The same message may be in a batch twice. Its second copy shares the verdict of the first.
    once = {record["body"]: record for record in reversed(event["Records"])}
    ends_at = _engine.clock.now() + context.get_remaining_time_in_millis()
    executing = {body: _pool.submit(_execute, record, ends_at) for body, record in once.items()}
    wait(executing.values())  # a call that goes on after the answer would be frozen midway
    deletable = {body: executed.result() for body, executed in executing.items()}
    kept = [record["messageId"] for record in event["Records"] if not deletable[record["body"]]]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}


def _execute(record: dict[str, Any], ends_at: int) -> bool:
    """Execute the run. Return whether its message may be deleted. An error here concerns this message only."""
    try:
        return _execute_run(record, ends_at)
    except Exception:  # noqa: BLE001 (one message must not stop the others)
        # The queue delivers the message again after its visibility time-out. The sweep finds a run that was started.
        _log.exception("not_executed", extra={"message_id": record["messageId"]})
        emit(_settings.stage, "worker", {"not_executed": 1})
        return False


def _execute_run(record: dict[str, Any], ends_at: int) -> bool:
    """Execute the run. Return whether its message may be deleted: an unreadable one ends in the dead-letter queue."""
    try:
        message = read_message(record["body"])
    except (ValueError, KeyError, TypeError):
        _log.error("unreadable_message", extra={"message_id": record["messageId"]})
        return False
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    received = Received(message, record["receiptHandle"], receives)
    verdict = execute_run(_executor, received, ends_at)
    _log.info("executed", extra={"run": message.run_id, "receives": receives, "verdict": repr(verdict)})
    return _settle(received, verdict)


def _settle(received: Received, verdict: Verdict) -> bool:
    """Hide a message that is still needed. Return whether the message may be deleted."""
    if isinstance(verdict, Done):
        return True
    try:
        _queues.hide(received, verdict.after_ms)
    except Unavailable as error:
        # The queue delivers the message after its own visibility time-out: later, but not lost.
        _log.warning("not_hidden", extra={"run": received.message.run_id, "error": str(error)})
    return False
