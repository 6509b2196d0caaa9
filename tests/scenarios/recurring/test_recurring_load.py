"""Stamping under load: calls take time, a deadline passes inside a step, and still each tick advances some jobs."""

from dataclasses import replace

import pytest

from benchmarks.slow_calls import Latency, Meter, slowed
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment
from onthedot.core.stamp import stamp_jobs
from onthedot.schedules.schedule import CronSchedule, Schedule
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults, FaultyStore
from tests.scenarios.kits.recurring import run_all, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
MINUTE = 60_000
STARTS = NOON + 10 * MINUTE


def many_jobs(world: World, count: int) -> list[Record]:
    """Jobs that fire each minute, begin in ten minutes and run what they miss."""
    schedules = [Schedule(CronSchedule("* * * * *"), STARTS, STARTS + (600 + n) * MINUTE) for n in range(count)]
    return [submit(Simulation(world), schedule, run_all()) for schedule in schedules]


def stamp(world: World, jobs: list[Record], latency: Latency, seconds: float = 80) -> tuple[int, list[str]]:
    """Stamp in a function that has so much time, and ten seconds more until it is killed."""
    now = world.clock.now()
    meter = Meter(world.clock, latency, dies_at=now + round((seconds + 10) * 1000))
    deadline = Deadline.after(now, round(seconds * 1000))
    stamped = stamp_jobs(slowed(world.engine, meter), [job.run_id for job in jobs], "tick/1", deadline)
    return stamped.counts["advanced"], stamped.left


def positions(world: World, jobs: list[Record]) -> list[int]:
    found = world.store.get_many([job.run_id for job in jobs], Deadline(0)).found
    return [found[job.run_id].due_at for job in jobs]


@pytest.mark.slow
def test_after_an_outage_and_a_crash_each_tick_advances_some_jobs_until_all_are() -> None:
    """Twelve thousand stamps exist, and no job has advanced."""
    with a_world(ONE_SHARD) as world:
        jobs = many_jobs(world, 500)
        world.clock.advance(30 * 60)
        for job in jobs:
            with pytest.raises(Crash):
                stamp_jobs(
                    Simulation(world).engine(Faults(1, Fault.CRASH_BEFORE)), [job.run_id], "dead/1", Deadline(10**15)
                )
        assert len(runs_of(Simulation(world), jobs[0])) == 24
        left = [job.run_id for job in jobs]
        for _ in range(20):
            remaining = [job for job in jobs if job.run_id in left]
            advanced, left = stamp(world, remaining, Latency(write=200, read=1_500, send=100, cpu_per_stamp=1.2))
            assert advanced, "a tick made no progress"
            assert len(left) == len(remaining) - advanced
            if not left:
                break
        assert left == []
        assert min(positions(world, jobs)) > world.clock.now() - 20 * MINUTE


def test_a_chunk_whose_time_is_over_is_not_stored() -> None:
    with a_world(ONE_SHARD) as world:
        jobs = many_jobs(world, 50)
        world.clock.advance(9 * 60)
        advanced, left = stamp(world, jobs, Latency(read=5_000), 4)
        assert (advanced, len(left)) == (0, 50)
        assert all(runs_of(Simulation(world), job) == [] for job in jobs)


def test_every_chunk_decides_by_its_own_present() -> None:
    """With slow writes the last chunks come minutes later. Their runs must not be put into slots that were read."""
    with a_world(ONE_SHARD) as world:
        jobs = many_jobs(world, 400)
        world.clock.advance(9 * 60)
        begin = world.clock.now()
        advanced, left = stamp(world, jobs, Latency(write=1_000), 600)
        assert (advanced, left) == (400, [])
        assert world.clock.now() > begin + MINUTE
        stamped = [run for job in jobs for run in runs_of(Simulation(world), job)]
        assert max(run.created_at for run in stamped) > begin + MINUTE // 2
        assert all(run.status is Status.DISPATCHED for run in stamped)
        buckets = [int((run.slot or "").split("#")[2]) for run in stamped]
        assert all(bucket >= run.created_at // MINUTE + 2 for run, bucket in zip(stamped, buckets, strict=True))


def test_a_job_that_cannot_be_planned_stops_no_other() -> None:
    with a_world(ONE_SHARD) as world:
        broken, *healthy = many_jobs(world, 5)
        with world.database.transaction() as connection:
            connection.execute("UPDATE runs SET recurrence = NULL WHERE run_id = ?", (broken.run_id,))
        world.clock.advance(9 * 60)
        stamped = stamp_jobs(
            world.engine, [job.run_id for job in (broken, *healthy)], "t", Deadline.after(world.clock.now(), 10_000)
        )
        assert stamped.counts["advanced"] == len(healthy)
        assert list(stamped.faults) == [broken.run_id]
        assert stamped.left == []


def test_a_job_whose_records_cannot_be_read_now_is_left_and_stops_no_other() -> None:
    with a_world(ONE_SHARD) as world:
        jobs = many_jobs(world, 3)
        world.clock.advance(30 * 60)
        store = FaultyStore(world.store, Faults())
        reads = []

        def runs_of_but_one(job_id: str, limit: int, cursor: str | None = None) -> object:
            reads.append(job_id)
            if job_id == jobs[0].job_id:
                raise Unavailable("throttled")
            return world.store.runs_of(job_id, limit, cursor)

        store.runs_of = runs_of_but_one  # type: ignore[method-assign, assignment]
        engine = replace(world.engine, store=store)
        stamped = stamp_jobs(engine, [job.run_id for job in jobs], "t", Deadline.after(world.clock.now(), 10_000))
        assert stamped.left == [jobs[0].run_id]
        assert stamped.counts["advanced"] == 2
        assert sorted(reads) == sorted(job.job_id for job in jobs)


def test_the_normal_path_reads_no_records_of_a_job() -> None:
    with a_world(ONE_SHARD) as world:
        jobs = many_jobs(world, 30)
        world.clock.advance(9 * 60)
        meter = Meter(world.clock, Latency())
        stamp_jobs(
            slowed(world.engine, meter), [job.run_id for job in jobs], "t", Deadline.after(world.clock.now(), 60_000)
        )
        # 30 jobs with 3 runs each: one read, four batches of stamps, two of advances, nine of messages.
        assert meter.requests == {"read": 1, "write": 4 + 2, "send": 9}
