"""Audit, once an hour, whether each fire time of the recurring jobs has an outcome."""

import os
from typing import Any

from onthedot.observability import emit, logger
from onthedot.ports import Deadline
from onthedot.settings import AuditorSettings
from onthedot.use_cases.dispatch.audit_jobs import audit_due_jobs
from onthedot.use_cases.shards.served_shards import ServedShards
from onthedot.wiring.aws import auditor_engine

_settings = AuditorSettings.from_environment(os.environ)
_engine = auditor_engine(_settings)
_shards = ServedShards(_engine.shards, _settings.shards)
_log = logger("auditor")
_SPARE_MS = 10_000


def handle(event: Any, context: Any) -> dict[str, int]:  # noqa: ARG001
    """Audit the jobs and return the counts. They are metrics too: an alarm watches the holes."""
    deadline = Deadline.after(_engine.clock.now(), context.get_remaining_time_in_millis() - _SPARE_MS)
    counts = audit_due_jobs(_engine, range(_shards.count()), deadline)
    _log.info("audited", extra=counts)
    emit(_settings.stage, "auditor", counts)
    return dict(counts)
