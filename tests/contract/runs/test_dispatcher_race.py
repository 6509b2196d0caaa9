"""Two dispatchers on the real DynamoDB protocol: claims are one winner's, whatever the index shows."""

import threading
from collections import Counter

from onthedot.core.choices import Priority
from onthedot.core.ports import Deadline, Tick
from onthedot.core.records import Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import Deployment
from onthedot.core.tick import dispatch_due
from tests.builders import a_run
from tests.contract.kits.kit import Kit

DEPLOYMENT = Deployment(shards=1, lookahead=3, history_days=30)


def test_two_dispatchers_race_for_one_slot_of_200_runs_and_each_run_is_sent_once(kit: Kit) -> None:
    store, progress = kit.store(), kit.progress()
    queues, inbox = kit.queues()
    engine = kit.engine(store, queues, kit.blobs(), DEPLOYMENT)
    runs = [a_run(kit.clock, DEPLOYMENT).due_in(0.5).pending().stored_in(store) for _ in range(200)]
    together = threading.Barrier(2)
    totals: list[Counter[str]] = []

    def dispatch(tick_id: str) -> None:
        together.wait()
        tick = Tick(0, (0,), kit.clock.now(), tick_id)
        totals.append(dispatch_due(engine, progress, tick, Deadline.after(kit.clock.now(), 60_000)))

    threads = [threading.Thread(target=dispatch, args=(tick_id,)) for tick_id in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(counts["sent"] for counts in totals) == 200
    assert {found.status for run in runs if (found := store.get(run.run_id))} == {Status.DISPATCHED}
    kit.let_pass(1)
    received: Counter[str] = Counter()
    while batch := inbox.receive(DEFAULT_POOL, Priority.MEDIUM):
        for one in batch:
            received[one.message.run_id] += 1
            inbox.delete(one)
    assert received == {run.run_id: 1 for run in runs}
