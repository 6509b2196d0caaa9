"""Logs and metrics. A log line has a fixed action word and the ids of its entity, never a payload or a secret.

The X-Ray SDK is not used: Lambda's active tracing needs none, and it would double the cold start.
"""

import logging
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

NAMESPACE = "onthedot"


def logger(service: str) -> Logger:
    """Return the logger of a function: one JSON line for each action. The package's own loggers use its handler too."""
    made = Logger(service=service)
    package = logging.getLogger("onthedot")
    if not package.handlers:
        package.addHandler(made.registered_handler)
    return made


def emit(stage: str, part: str, counts: Mapping[str, int], lateness_ms: list[int] | None = None) -> None:
    """Write the counts of one invocation as CloudWatch metrics.

    They are written as an embedded-metric log line, which needs no call and adds no latency.
    """
    values: dict[str, Any] = {name: count for name, count in counts.items() if count}
    if not values and not lateness_ms:
        return
    metrics = EphemeralMetrics(namespace=NAMESPACE)
    metrics.add_dimension("stage", stage)
    metrics.add_dimension("part", part)
    for name, count in values.items():
        metrics.add_metric(name, MetricUnit.Seconds if name.endswith("_seconds") else MetricUnit.Count, count)
    for late in lateness_ms or []:
        metrics.add_metric("lateness_ms", MetricUnit.Milliseconds, late)
    metrics.flush_metrics()
