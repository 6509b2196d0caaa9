"""An overview as the API answers it."""

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 11, 18, 12, 0, 30, tzinfo=UTC)


def an_overview(**parts: Any) -> dict[str, Any]:
    minutes = [
        {
            "time": f"2026-11-18T11:{minute:02}:00.000Z",
            "succeeded": minute,
            "failed": 0,
            "skipped": 0,
            "cancelled": 0,
            "retries": 0,
        }
        for minute in range(60)
    ]
    document = {
        "time": "2026-11-18T12:00:30.000Z",
        "tenant": "acme",
        "role": "admin",
        "principal": "ada",
        "version": "0.1.0",
        "engine": "aws",
        "stage": "prod",
        "status": "ok",
        "last_tick": "2026-11-18T12:00:16.000Z",
        "tick_age_seconds": 14,
        "summary": {"state": "failing", "message": "12,322 runs in the last hour, 23 failed."},
        "hour": {
            "from": "2026-11-18T11:00:00.000Z",
            "to": "2026-11-18T12:00:00.000Z",
            "succeeded": 12_299,
            "failed": 23,
            "skipped": 4,
            "cancelled": 0,
            "retries": 31,
            "lost": 0,
            "lateness": {"p50_ms": 4, "p99_ms": 88, "max_ms": 1_234, "counts": [1, 2, 3]},
            "bounds_ms": [1, 2],
            "minutes": minutes,
        },
        "queues": [
            {
                "pool": "default",
                "priority": "HIGH",
                "waiting": 3,
                "delayed": 1,
                "in_flight": 2,
                "oldest_age_seconds": 540,
                "dead_letters": 0,
            },
            {
                "pool": "batch",
                "priority": None,
                "waiting": None,
                "delayed": None,
                "in_flight": None,
                "oldest_age_seconds": None,
                "dead_letters": None,
                "error": "it was not asked in time; call again",
            },
        ],
        "workers": {"alive": 3, "silent": 1, "running": 12, "concurrency": 30},
        "due": [{"time": f"2026-11-18T12:{minute:02}:00.000Z", "runs": minute % 7} for minute in range(60)],
        "next": [{"job_id": "job_next", "name": "report", "fire_time": "2026-11-18T12:01:00.000Z"}],
        "failures": [
            {
                "execution_id": "job_bad.1",
                "job_id": "job_bad",
                "name": "remind-17",
                "target": "POST https://x.example/",
                "error": "HTTP 503 after 4 attempts",
                "finished_at": "2026-11-18T11:59:00.000Z",
            }
        ],
        "causes": [],
        "hold_ups": [
            {
                "code": "gate_full",
                "message": "3 runs wait at gate stripe",
                "since": "2026-11-18T11:50:00.000Z",
                "job_id": "job_held",
                "name": None,
                "gate": "stripe",
                "pool": None,
                "runs": 3,
            }
        ],
        "limits": {"in_flight": None, "per_second": None},
    }
    return {**document, **parts}
