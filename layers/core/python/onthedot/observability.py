"""Logs and metrics. A log line has a fixed action word and the ids of its entity, never a payload or a secret.

The X-Ray SDK is not used: Lambda's active tracing needs none, and it would double the cold start.
"""

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from onthedot.core.ports import Where

NAMESPACE: Final = "onthedot"
METRICS_LOG: Final = "onthedot.metrics"
MOST_VALUES: Final = 100
"""The most values of a metric in one line. CloudWatch ignores a line with more."""
_UNITS: Final = {"_ms": "Milliseconds", "_seconds": "Seconds"}


def logger(service: str) -> "Logger":
    """Return the logger of a function: one JSON line for each action. The package's own loggers use its handler too."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415 - only functions have it

    made = Logger(service=service)
    package = logging.getLogger("onthedot")
    if not package.handlers:
        package.addHandler(made.registered_handler)
        package.setLevel(made.log_level)
    return made


class Metrics:
    """The metrics of one process. They are collected, and then written as one line in CloudWatch's embedded format.

    Such a line needs no call and adds no latency: CloudWatch reads the metrics from the log. A metric costs money by
    its name and dimensions, so its only dimension is the stage. With `detailed`, metrics of runs also have one for each
    pool and priority.
    """

    def __init__(
        self, stage: str, *, detailed: bool = False, write: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self._stage = stage
        self._detailed = detailed
        self._write = write or _print
        self._lock = threading.Lock()
        self._values: defaultdict[Where | None, dict[str, list[int]]] = defaultdict(dict)

    def add(self, name: str, number: int = 1, where: "Where | None" = None) -> None:
        """Add to a count. A count that stays 0 is not a metric."""
        if number:
            with self._lock:
                values = self._values[self._kept(where)]
                values[name] = [values.get(name, [0])[0] + number]

    def observe(self, name: str, value: int, where: "Where | None" = None) -> None:
        """Note one value of a metric whose values matter one by one, 0 included."""
        with self._lock:
            self._values[self._kept(where)].setdefault(name, []).append(value)

    def flush(self) -> None:
        """Write the metrics since the last call, if any: one line, or more if a metric has over 100 values."""
        with self._lock:
            collected, self._values = self._values, defaultdict(dict)
        for where, values in collected.items():
            for first in range(0, max(map(len, values.values())), MOST_VALUES):
                part = {name: found[first : first + MOST_VALUES] for name, found in values.items()}
                self._write(self._line(where, {name: found for name, found in part.items() if found}))

    def _kept(self, where: "Where | None") -> "Where | None":
        return where if self._detailed else None

    def _line(self, where: "Where | None", values: dict[str, list[int]]) -> dict[str, Any]:
        detail = {} if where is None else {"pool": where[0], "priority": str(where[1])}
        described = {
            "Namespace": NAMESPACE,
            "Dimensions": [["stage"], *([["stage", *detail]] if detail else [])],
            "Metrics": [{"Name": name, "Unit": _unit(name)} for name in values],
        }
        about = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [described]}
        return {"_aws": about, "stage": self._stage, **detail, **values}


def write_to_log(line: dict[str, Any]) -> None:
    """Write a line of metrics to the log of a worker. Its JSON log keeps the line in the embedded format."""
    logging.getLogger(METRICS_LOG).info("metrics", extra=line)


def _print(line: dict[str, Any]) -> None:
    print(json.dumps(line, separators=(",", ":")), flush=True)  # noqa: T201 - Lambda sends standard output to the log


def _unit(name: str) -> str:
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "Count")
