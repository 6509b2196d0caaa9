"""A run in which every field has a value."""

from onthedot.domain.run import Attempt, Definition, HttpTarget, Priority, RetryPolicy, Run
from onthedot.ports import Clock
from tests.builders import a_run


def a_run_with_every_field(clock: Clock) -> Run:
    target = HttpTarget("https://example.org/ä?q=1", "PUT", {"x-one": "1"})
    definition = Definition(
        target=target,
        payload={"text": "grüße 🎉", "list": [1, None, 2.5, {"deep": True}]},
        payload_ref="payloads/abc",
        retry=RetryPolicy(7, 0.5, 3.0, 60.0, jitter=False),
        timeout_seconds=7,
        name="every field",
        tags={"team": "ops"},
    )
    return (
        a_run(clock)
        .due_in(3600)
        .in_tenant("tenant/ü#1")
        .of_priority(Priority.HIGH)
        .having(
            definition=definition,
            pool="gpu",
            token="tick/nonce",
            attempt=3,
            attempt_token="a1b2",
            failures=1,
            losses=2,
            resends=4,
            lease_until=clock.now() + 30_000,
            worker="worker-1",
            started_at=clock.now() - 5,
            finished_at=clock.now(),
            reason="because",
            result="200 OK",
            attempts=(Attempt(1, "w", 1, 2, "failed", "500"), Attempt(2, "w", 3, 4, "lost")),
            fingerprint="f00",
            listed_under="acme#1",
            failed_under="acme",
            expires_at=clock.now() // 1000 + 1_000_000,
        )
        .build()
    )
