"""The benchmarks measure what they say they do; and a small tick is flat, which needs no calm machine to be counted."""

from benchmarks.flatness import figures, measure, sqlite_subjects
from benchmarks.stored_jobs import fill_sqlite
from onthedot.core.records import Kind
from onthedot.core.slots import SlotKind, bucket_of, horizon, slot_name
from tests.builders import a_world


def test_a_tick_asks_as_much_of_a_store_whatever_else_is_in_it() -> None:
    with sqlite_subjects([10, 2_000], folder=None) as subjects:
        measure(subjects, rounds=1)
        small, large = (figures(subject) for subject in subjects)
    assert small["statements"] == large["statements"]
    assert large["vm steps"] <= 1.05 * small["vm steps"]


def test_the_stored_jobs_are_jobs_that_are_not_due() -> None:
    with a_world() as world:
        fill_sqlite(world.database, world.engine, 500)
        with world.database.transaction() as connection:
            ids = [row["run_id"] for row in connection.execute("SELECT run_id FROM runs")]
        found = world.store.get_many(ids, deadline=None).found  # type: ignore[arg-type] # SQLite needs none
        copies = list(found.values())
        assert len(copies) == 500 + 2
        assert sum(copy.kind is Kind.RECURRING for copy in copies) == 100 + 1
        for copy in copies:
            assert copy.due_at >= horizon(world.clock.now(), world.deployment.lookahead)
            shards = range(world.deployment.shards)
            assert copy.slot in [slot_name(SlotKind.FIRE, shard, bucket_of(copy.due_at)) for shard in shards]
