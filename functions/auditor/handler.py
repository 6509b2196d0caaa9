"""Audit, once an hour, whether each fire time of the recurring jobs has an outcome. Then remove unused payloads."""

import os
from typing import Any

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.shards import ServedShards
from onthedot.jobs.audit import audit_due_jobs
from onthedot.jobs.remove_payloads import remove_unused_payloads
from onthedot.metrics import observe_audit
from onthedot.observability import Metrics, logger
from onthedot.settings import AuditorSettings
from onthedot.wiring.aws import auditor_engine, blobs_in, observe_clients

_settings = AuditorSettings.from_environment(os.environ)
_metrics = Metrics(_settings.stage)
observe_clients(_metrics)
_engine = auditor_engine(_settings)
_blobs = blobs_in(_settings.blob_bucket)
_shards = ServedShards(_engine.shards, _settings.shards)
_log = logger("auditor")
_SPARE_MS = 10_000
_PAYLOADS = 10
"""The audit leaves this part of the time, a tenth, for the payloads."""


def handle(event: Any, context: Any) -> dict[str, int]:  # noqa: ARG001
    """Audit the jobs and return the counts. They are metrics too: an alarm watches the holes."""
    now, left = _engine.clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS
    counts = audit_due_jobs(_engine, range(_shards.count()), Deadline.after(now, left - left // _PAYLOADS))
    _log.info("audited", extra=counts)
    observe_audit(_metrics, counts)
    _metrics.flush()
    _remove_payloads(Deadline.after(now, left))
    return dict(counts)


def _remove_payloads(deadline: Deadline) -> None:
    """Remove payloads that no job uses. Without S3 they stay for the next hour, and the audit is done anyway."""
    try:
        _log.info("payloads", extra=remove_unused_payloads(_engine, _blobs, deadline))
    except Unavailable as error:
        _log.error("payloads_not_removed", extra={"error": str(error)})
