"""kill -9 of `onthedot serve` under load, and the judgement of it."""

from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from onthedot.core.clock import VirtualClock
from onthedot.core.records import Attempt, Record, Status
from tests.builders import a_run
from tests.durability.kills.clients import Acknowledged
from tests.durability.kills.harness import Plan, play
from tests.durability.kills.listener import NotedCall
from tests.durability.kills.verdict import Kill, Verdict, fault_of

JOB = Acknowledged(number=1, job_id="job_a", fire_at=10_000, acknowledged_at=9_000)


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    plan = Plan(kills=100, jobs=2_000, seconds=40.0, most_alive=0.5, far=200)

    outcome = play(plan, tmp_path)

    assert outcome.verdict.faults == [], str(outcome)
    assert len(outcome.kills) == 100
    assert outcome.acknowledged == 2_200
    # Other tests use the machine at the same time. So the CPU time of a new process counts, most of which are imports,
    # and the quickest of the processes that have done their imports.
    assert median(outcome.new_cpu) <= 1.5, str(outcome)
    assert min(outcome.forked_starts) <= 1.0, str(outcome)


def faults(calls: list[NotedCall], kills: list[int]) -> list[str]:
    """Judge the calls of one job. The target has noted all calls 50 ms after each of these kills."""
    verdict = Verdict()
    verdict.judge_calls([JOB], {1: calls}, [Kill(at, at + 50) for at in kills])
    return verdict.faults


def a_call(at: int, key: str = "job_a") -> NotedCall:
    return NotedCall(at, key)


def test_one_call_on_time_is_right() -> None:
    assert faults([a_call(10_000)], []) == []


@pytest.mark.parametrize(
    ("calls", "what"),
    [
        ([], "lost"),
        ([a_call(9_999)], "early by 1 ms"),
        ([a_call(10_000, "job_b")], "other idempotency keys"),
        ([a_call(10_000), a_call(10_400)], "twice without a kill"),
    ],
)
def test_a_fault_is_found(calls: list[NotedCall], what: str) -> None:
    assert [fault.startswith(what) for fault in faults(calls, [])] == [True]


def test_a_call_is_repeated_only_around_a_kill() -> None:
    assert faults([a_call(10_000), a_call(10_400)], [10_001]) == []
    assert faults([a_call(10_000), a_call(10_400)], [9_960]) == [], "the target reads a call after the kill"
    assert faults([a_call(10_000), a_call(10_400)], [10_500]) != [], "the kill came after the second call"
    assert faults([a_call(10_000), a_call(10_400)], [9_940]) != [], "the kill came long before the first call"


def an_ended_run(*outcomes: tuple[str, str]) -> Record:
    attempts = tuple(Attempt(n, worker, 10_000, 10_001, outcome) for n, (outcome, worker) in enumerate(outcomes, 1))
    losses = sum(outcome == "lost" for outcome, _ in outcomes)
    run = a_run(VirtualClock()).called("job_a").having(attempts=attempts, losses=losses).build()
    return replace(run, status=Status.SUCCEEDED, slot=None, started_at=10_000)


def test_a_repeated_call_needs_an_attempt_that_died_with_another_process() -> None:
    once, again = an_ended_run(("succeeded", "serve-1")), an_ended_run(("lost", "serve-1"), ("succeeded", "serve-2"))
    same = an_ended_run(("lost", "serve-1"), ("succeeded", "serve-1"))

    assert fault_of(JOB, once, calls=1) is None
    assert fault_of(JOB, again, calls=2) is None
    assert fault_of(JOB, again, calls=1) is None, "the process died before it called the target"
    assert "2 calls" in (fault_of(JOB, once, calls=2) or "")
    assert "2 calls" in (fault_of(JOB, same, calls=2) or "")
    assert "FAILED" in (fault_of(JOB, replace(once, status=Status.FAILED), calls=1) or "")


def test_a_run_fails_only_if_five_processes_died_with_it() -> None:
    def failed(*workers: str) -> str | None:
        run = an_ended_run(*(("lost", worker) for worker in workers))
        return fault_of(JOB, replace(run, status=Status.FAILED), calls=len(workers))

    assert failed("1", "2", "3", "4", "5") is None
    assert "FAILED" in (failed("1", "2", "3", "4", "4") or "")
    assert "FAILED" in (failed("1", "2", "3", "4") or "")


def test_a_job_that_the_file_does_not_have_is_found(tmp_path: Path) -> None:
    verdict = Verdict()
    verdict.judge_file(tmp_path / "empty.db", [JOB], {})
    assert [fault.startswith("not stored") for fault in verdict.faults] == [True]
