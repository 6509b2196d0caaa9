"""Execute a batch of messages side by side, each run at the millisecond at which it is due."""

import os
import random
import sys
import uuid
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, NoReturn

from onthedot.core import lifecycle
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.errors import Unavailable
from onthedot.core.leases import StoreLeases
from onthedot.core.ports import Received, RunMessage
from onthedot.core.start import Done, Verdict
from onthedot.core.traces import span_id_of, trace_id_of
from onthedot.engines.aws.sqs.queues import read_message
from onthedot.engines.store_around import counted
from onthedot.metrics import UNSETTLED
from onthedot.observability import Metrics, logger
from onthedot.settings import WorkerSettings
from onthedot.wiring.aws import observe_clients, worker_engine
from onthedot.wiring.workers import push_targets
from onthedot.workers.records import LAMBDA_WORKER

_log = logger("worker")
SECONDS_TOGETHER: Final = 5.0
"""Most batches end sooner, and one call deletes their messages. After it, each message of a finished run costs a
call."""
_MARGIN_MS: Final = 10_000
"""The time before the end of the function at which a batch is given up."""

_Execution = Future[Received | None]
"""The execution of a run. Its result is the message if that may be deleted, or None."""


def _log_next(message: RunMessage, verdict: Verdict) -> None:
    _log.info("executed_next", extra={"run": message.run_id, "verdict": repr(verdict), **_trace(message, verdict)})


def _trace(message: RunMessage, verdict: Verdict) -> dict[str, str]:
    """Return the trace of the run for the log, with the span of the attempt that this worker performed."""
    run = verdict.run if isinstance(verdict, Done) else None
    if run is not None:
        return {"trace_id": trace_id_of(run.run_id, run.trace), "span_id": span_id_of(run.run_id, run.attempt)}
    return {"trace_id": trace_id_of(message.run_id, message.trace)} if message.trace else {}


_settings = WorkerSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage, detailed=_settings.detailed_metrics)
observe_clients(_metrics)
_engine = counted(worker_engine(_settings), _metrics)
_queues = _engine.queues
_executor = RunExecutor(
    engine=_engine,
    performer=push_targets(_settings, _engine),
    leases=StoreLeases(_engine.store, _engine.clock),
    worker_id=f"{LAMBDA_WORKER}{uuid.uuid4().hex[:8]}",
    chance=random.Random(),  # noqa: S311 (jitter of retries, not a secret)
    on_next=_log_next,
)
_pool = ThreadPoolExecutor(max_workers=10, thread_name_prefix="run")


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Execute the batch, and write its metrics. Report messages that are still needed as failed: SQS keeps them."""
    # The same message may be in a batch twice. Its second copy shares the verdict of the first.
    once = {record["body"]: record for record in reversed(event["Records"])}
    ends_at = _engine.clock.now() + context.get_remaining_time_in_millis()
    executing = {body: _pool.submit(_execute, record, ends_at) for body, record in once.items()}
    # A call that goes on after the answer would be frozen midway.
    late = _wait_for_batch(set(executing.values()), ends_at)
    if late:
        _give_up([once[body] for body, execution in executing.items() if execution in late])
    _metrics.flush()
    kept = [record["messageId"] for record in event["Records"] if _deletable(executing[record["body"]]) is None]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}


def _wait_for_batch(running: set[_Execution], ends_at: int) -> set[_Execution]:
    """Wait until all runs are executed. Return those that are not soon before `ends_at`, the end of the function."""
    while running and (left := (ends_at - _MARGIN_MS - _engine.clock.now()) / 1000) > 0:
        ended, running = wait(running, min(SECONDS_TOGETHER, left))
        if running:
            for message in filter(None, map(_deletable, ended)):
                _delete(message)
    return running


def _deletable(execution: _Execution) -> Received | None:
    """Return the message of an execution that has ended, if it may be deleted. A failure of any kind keeps it."""
    return None if execution.exception() is not None else execution.result()


def _execute(record: dict[str, Any], ends_at: int) -> Received | None:
    """Execute the run. Return its message if that may be deleted. An error here concerns this message only."""
    try:
        return _execute_run(record, ends_at)
    except BaseException:  # noqa: BLE001 (one message must not stop the others, and a target may raise SystemExit)
        # The queue delivers the message again after its visibility timeout. The sweep finds a run that was started.
        _log.exception("not_executed", extra={"message_id": record["messageId"]})
        _metrics.add("not_executed")
        _metrics.add(UNSETTLED)
        return None


def _execute_run(record: dict[str, Any], ends_at: int) -> Received | None:
    """Execute the run. Return its message if that may be deleted: an unreadable one ends in the dead-letter queue."""
    received = _received(record)
    if received is None:
        return None
    verdict = execute_run(_executor, received, ends_at)
    about = {"run": received.message.run_id, "receives": received.receive_count, "verdict": repr(verdict)}
    _log.info("executed", extra={**about, **_trace(received.message, verdict)})
    if isinstance(verdict, Done):
        return received
    _hide(received, verdict.after_ms)
    return None


def _received(record: dict[str, Any]) -> Received | None:
    try:
        message = read_message(record["body"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _log.error("unreadable_message", extra={"message_id": record["messageId"], "why": repr(error)[:200]})
        _metrics.add(UNSETTLED)
        return None
    return Received(message, record["receiptHandle"], int(record["attributes"]["ApproximateReceiveCount"]))


def _hide(received: Received, milliseconds: int) -> None:
    """Hide a message that is still needed."""
    try:
        _queues.hide(received, milliseconds)
    except Unavailable as error:
        # The queue delivers the message after its own visibility timeout: later, but not lost.
        _log.warning("not_hidden", extra={"run": received.message.run_id, "error": str(error)})


def _delete(received: Received) -> None:
    try:
        _queues.delete(received)
    except Exception as error:  # noqa: BLE001 (one message must not stop the others)
        # The message comes again and is dropped, because the attempt is over.
        _log.warning("not_deleted", extra={"run": received.message.run_id, "error": repr(error)})


def _give_up(records: list[dict[str, Any]]) -> NoReturn:
    """End this process, because these runs do not end: it could not execute ten others alongside them.

    The messages of the other runs are already deleted or hidden. The leases of these runs end with the process, and
    their messages come again then.
    """
    for received in filter(None, map(_received, records)):
        _metrics.add("not_executed")
        _metrics.add(UNSETTLED)
        _log.error("never_ended", extra={"run": received.message.run_id})
        _hide(received, lifecycle.LEASE_MS + lifecycle.CLOCK_MARGIN_MS)
    _metrics.flush()
    sys.stdout.flush()
    os._exit(1)
