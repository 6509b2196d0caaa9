"""The lines of metrics in CloudWatch's embedded format."""

import json
import logging
import threading
from typing import Any

import pytest

from onthedot.cli.process import JsonLines
from onthedot.core.choices import Priority
from onthedot.observability import METRICS_LOG, MOST_VALUES, Metrics, write_to_log

Lines = list[dict[str, Any]]


def flushed(metrics: Metrics, capsys: pytest.CaptureFixture[str]) -> Lines:
    metrics.flush()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_all_metrics_of_a_call_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("prod")
    metrics.observe("lateness_ms", 4)
    metrics.observe("lateness_ms", 0)
    metrics.add("failed", 2)
    metrics.add("failed")
    metrics.add("dead", 0)
    metrics.observe("gate_oldest_seconds", 7)
    [line] = flushed(metrics, capsys)
    [described] = line["_aws"]["CloudWatchMetrics"]
    assert described["Namespace"] == "onthedot"
    assert described["Dimensions"] == [["stage"]]
    assert {metric["Name"]: metric["Unit"] for metric in described["Metrics"]} == {
        "lateness_ms": "Milliseconds",
        "failed": "Count",
        "gate_oldest_seconds": "Seconds",
    }
    assert (line["stage"], line["lateness_ms"], line["failed"]) == ("prod", [4, 0], [3])
    assert isinstance(line["_aws"]["Timestamp"], int)


def test_without_a_metric_nothing_is_written_and_a_line_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("prod")
    assert flushed(metrics, capsys) == []
    metrics.add("dead")
    assert len(flushed(metrics, capsys)) == 1
    assert flushed(metrics, capsys) == []


def test_a_metric_has_at_most_a_hundred_values_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("prod")
    metrics.add("failed", 250)
    for late in range(250):
        metrics.observe("lateness_ms", late)
    lines = flushed(metrics, capsys)
    assert [len(line["lateness_ms"]) for line in lines] == [100, 100, 50]
    assert MOST_VALUES == 100
    assert [late for line in lines for late in line["lateness_ms"]] == list(range(250))
    assert [line.get("failed") for line in lines] == [[250], None, None], "a count is written once"
    assert [len(line["_aws"]["CloudWatchMetrics"][0]["Metrics"]) for line in lines] == [2, 1, 1]


def test_detailed_metrics_also_have_pool_and_priority(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("prod", detailed=True)
    metrics.observe("lateness_ms", 1, ("default", Priority.HIGH))
    metrics.observe("lateness_ms", 2, ("pull", Priority.LOW))
    metrics.add("faults")
    lines = flushed(metrics, capsys)
    dimensions = [line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] for line in lines]
    assert dimensions == [*[[["stage"], ["stage", "pool", "priority"]]] * 2, [["stage"]]]
    assert [(line.get("pool"), line.get("priority")) for line in lines] == [
        ("default", "HIGH"),
        ("pull", "LOW"),
        (None, None),
    ]


def test_threads_lose_no_count() -> None:
    lines: Lines = []
    metrics = Metrics("prod", write=lines.append)

    def count() -> None:
        for _ in range(1_000):
            metrics.add("failed")
            metrics.flush()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(line["failed"][0] for line in lines) == 4_000


def test_the_json_log_of_a_worker_keeps_the_embedded_format(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics("prod", write=write_to_log)
    metrics.observe("lateness_ms", 5)
    with caplog.at_level(logging.INFO, METRICS_LOG):
        metrics.flush()
    [record] = caplog.records
    line = json.loads(JsonLines().format(record))
    assert (line["stage"], line["lateness_ms"]) == ("prod", [5])
    assert line["_aws"]["CloudWatchMetrics"][0]["Metrics"] == [{"Name": "lateness_ms", "Unit": "Milliseconds"}]
