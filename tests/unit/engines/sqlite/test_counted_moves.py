"""Moves that are applied together: the end of a run that cannot be counted undoes no other."""

from onthedot.core import lifecycle
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import a_run, a_world, the_start_of
from tests.unit.api.statistics.test_statistics import moved


def test_a_damaged_record_ends_uncounted_and_the_others_are_counted() -> None:
    with a_world() as world:
        now = world.clock.now()
        store = SqliteRunStore(world.database, world.clock)
        runs = [
            moved(world, the_start_of(a_run(world.clock).dispatched().stored_in(world.store), now)) for _ in range(3)
        ]
        with world.database.transaction() as connection:
            connection.execute("UPDATE runs SET definition = 'no json' WHERE run_id = ?", (runs[1].run_id,))
        assert store.apply([lifecycle.succeed(run, now, None, world.deployment) for run in runs]) == [True] * 3
        minute = now // 60_000
        assert sum(one.counters.succeeded for one in world.statistics.read("acme", minute, minute + 1)) == 2
