"""Handlers as users write them. Their names are unique among all tests, because the registry is one for the process."""

from typing import Any

from onthedot import NonRetryable, RetryAfter, job
from onthedot.jobs import Context

outbox: list[Any] = []
delivered: set[str] = set()


@job("kit-send")
def send(payload: Any) -> None:
    outbox.append(payload)


@job("kit-send-once")
def send_once(payload: Any, context: Context) -> str:
    if context.idempotency_key not in delivered:
        delivered.add(context.idempotency_key)
        outbox.append(payload)
    return "sent"


@job("kit-reports")
def reports(payload: Any, context: Context) -> list[Any]:
    context.progress(0.5, "half")
    context.progress(text="almost")
    return [context.cancelled, context.lateness.total_seconds(), context.deadline.isoformat()]


@job("kit-async")
async def send_async(payload: Any, context: Context) -> dict[str, Any]:
    outbox.append(payload)
    return {"attempt": context.attempt}


@job("kit-broken")
def broken(payload: Any) -> None:
    raise ValueError("boom")


@job("kit-hopeless")
def hopeless(payload: Any) -> None:
    raise NonRetryable("no such user")


@job("kit-later")
def later(payload: Any, context: Context) -> None:
    if context.attempt == 1:
        raise RetryAfter(3600)


@job("kit-exits")
def exits(payload: Any) -> None:
    raise SystemExit(3)


@job("kit-interrupted")
def interrupted(payload: Any) -> None:
    raise KeyboardInterrupt
