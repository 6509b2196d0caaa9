"""Do the tick that a message of the tick queue asks for: the claim pass, then the sweep."""

import os
from typing import Any

from onthedot.core.ports import Deadline
from onthedot.core.tick import continue_tick, dispatch_due, must_be_redelivered
from onthedot.engines.aws.sqs.ticks import read_tick
from onthedot.engines.store_around import counted
from onthedot.metrics import FAULTS, observe_tick
from onthedot.observability import Metrics, logger
from onthedot.settings import DispatcherSettings
from onthedot.statistics.canary import CanaryKeeper
from onthedot.wiring.aws import dispatcher_engine, observe_clients, tick_queue

_settings = DispatcherSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage, detailed=_settings.detailed_metrics)
observe_clients(_metrics)
_stored, _progress = dispatcher_engine(_settings)
_engine = counted(_stored, _metrics)
_ticks = tick_queue(_settings)
_canary = CanaryKeeper(wanted=_settings.canary)
_log = logger("dispatcher")
_SPARE_MS = 10_000


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do the ticks, and write their metrics."""
    try:
        return _handle(event, context)
    finally:
        _metrics.flush()


def _handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do the ticks. Report a tick that could not send all runs as failed: its redelivery sends the rest.

    A tick that raises an error fails alone. If all of them do, the last error is raised, for the alarm on errors.
    """
    deadline = Deadline.after(_engine.clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    failed: list[str] = []
    errors: list[Exception] = []
    for record in event["Records"]:
        try:
            failed += [] if _dispatch(record, deadline) else [record["messageId"]]
        except Exception as error:  # noqa: BLE001 (one tick must not stop the others)
            _log.exception("tick_failed", extra={"message_id": record["messageId"]})
            _metrics.add(FAULTS)
            failed.append(record["messageId"])
            errors.append(error)
    _canary.keep(_engine)
    if errors and len(errors) == len(event["Records"]):
        raise errors[-1]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _dispatch(record: dict[str, Any], deadline: Deadline) -> bool:
    receives = int(record["attributes"]["ApproximateReceiveCount"])
    tick = read_tick(record["body"], record["messageId"], receives)
    counts = dispatch_due(_engine, _progress, tick, deadline)
    _log.info("dispatched", extra={"group": tick.group, "redelivered": tick.redelivered, **counts})
    observe_tick(_metrics, counts, age_ms=_engine.clock.now() - tick.planned_at, lookahead=_settings.lookahead)
    if counts["out_of_time"]:
        continue_tick(_ticks, _engine.clock, tick)
    return not must_be_redelivered(tick, counts)
