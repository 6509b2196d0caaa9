"""A run in which every field has a value."""

from typing import Any

from onthedot.core.choices import Priority, Requirements, RetryPolicy
from onthedot.core.ports import Clock
from onthedot.core.progress import ProgressReport
from onthedot.core.records import Attempt, Definition, Record
from onthedot.jobs.spec import Stored, stored_in
from onthedot.schedules.choices import DstPolicy, Gap, Misfire, MisfirePolicy, Overlap, OverlapPolicy
from onthedot.schedules.schedule import CronSchedule, Recurrence, Schedule
from onthedot.targets.types import (
    AwsTarget,
    CanaryTarget,
    GrpcTarget,
    HttpTarget,
    ShellTarget,
    Target,
    WorkflowTarget,
)
from tests.builders import a_run
from tests.examples import good, in_code
from tests.unit.targets.samples import OF_EACH_TYPE

RECURRENCE = Recurrence(
    Schedule(
        CronSchedule("*/5 9-17 * * mon-fri", "Europe/Berlin", DstPolicy(Gap.SKIP, Overlap.TWICE)),
        start_at=1_000,
        end_at=4_102_444_800_000,
        jitter_seconds=30,
    ),
    Misfire(MisfirePolicy.RUN_ALL, 5),
    OverlapPolicy.QUEUE,
    max_runs=99,
)

TARGETS: tuple[Target, ...] = (
    *OF_EACH_TYPE.values(),
    HttpTarget("https://example.org/ä?q=1", "PUT", {"x-one": "1"}),
    AwsTarget("sqs", "SendMessage", {"QueueUrl": "https://q", "Tags": [{"a": [1, 2.5, None]}], "Empty": {}}),
    AwsTarget("dynamodb", "PutItem"),
    ShellTarget(("/bin/echo", "two words", "", "🎉")),
    GrpcTarget("[::1]:50051", "a.b.Service/Method"),
    WorkflowTarget(),
    CanaryTarget(),
)
"""Every type of target, with and without what it may leave out."""


def from_the_table(stored: Stored) -> dict[str, Any]:
    """Values of the fields of jobs that are stored there, so that a new one needs no line here."""
    return {field.name: field.changed(in_code(field, good(field)[0]), field.default) for field in stored_in(stored)}


def a_run_with_every_field(clock: Clock) -> Record:
    own: dict[str, Any] = {
        "retry": RetryPolicy(7, 0.5, 3.0, 60.0, jitter=False),
        "name": "every field",
        "description": "what it is for: grüße 🎉\nsecond line",
        "requirements": Requirements(("gpu", "ffmpeg"), cpu=1.5, memory_mb=2048),
    }
    definition = Definition(
        target=TARGETS[0],
        payload={"text": "grüße 🎉", "list": [1, None, 2.5, {"deep": True}]},
        payload_ref="payloads/abc",
        **{**from_the_table(Stored.DEFINITION), **own},
    )
    of_jobs = {**from_the_table(Stored.RECORD), "gates": ("customer:ключ/#:1", "stripe")}
    return (
        a_run(clock)
        .due_in(3600)
        .in_tenant("tenant/ü#1")
        .of_priority(Priority.HIGH)
        .having(
            definition=definition,
            pool="gpu",
            claim_token="tick/nonce",
            recurrence=RECURRENCE,
            version=5,
            changes="19c8f0a1b2c,5,p0,;19c8f0a1b00,4,c-,nt\nops",
            schedule_version=2,
            scheduled_since=clock.now() - 3_600_000,
            stamped=17,
            given_up="1 2 2",
            accounted_until=clock.now() - 2,
            trigger="backfill",
            trace="0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            revision=41,
            parents=("job_p", "job_q"),
            waits_for=frozenset({"job_q"}),
            on_parent_failure="skip",
            children=frozenset({"job_c", "job_d"}),
            dependents=2,
            notify_pending=1,
            workflow="job_w",
            key="fan-in",
            pattern='{"source":["grüße 🎉"]}',
            pattern_entry="a1b2c3",
            payload='{"text":"grüße 🎉"}',
            payload_ref="event-payloads/abc",
            last_started_run="job_x.000000000000001",
            skipped_until=clock.now() - 60_000,
            skipped_count=12,
            cancel_requested=clock.now() - 1,
            attempt=3,
            attempt_token="a1b2",
            failures=1,
            losses=2,
            resends=4,
            aside_from="fire#0#29000000",
            aside_since=7,
            aside_why="it was odd",
            **of_jobs,
            held=("0#@tenant", "12#stripe"),
            woken="customer:ключ/#:1",
            waited_at="customer:ключ/#:1",
            waited_since=clock.now() - 9,
            waited_why="1 of 1 place was in use, the longest by job_ключ",
            start_by=clock.now() + 60_000,
            lease_until=clock.now() + 30_000,
            worker="worker-1",
            started_at=clock.now() - 5,
            timeout_seconds=90,
            progress=ProgressReport(0.42, "grüße: 420 of 1,000 🎉", clock.now() - 2),
            finished_at=clock.now(),
            reason="because",
            result="200 OK",
            result_ref="results/job_x/3-a1b2",
            attempts=(Attempt(1, "w", 1, 2, "failed", "500", "http_500"), Attempt(2, "w", 3, 4, "lost")),
            fingerprint="f00",
            listed_under="acme#1",
            failed_under="acme",
            expires_at=clock.now() // 1000 + 1_000_000,
        )
        .build()
    )
