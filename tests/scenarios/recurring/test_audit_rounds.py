"""A round of the auditor: which slots it reads, which it leaves, and that jobs that are not due cost nothing."""

from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Page, SlotEntry
from onthedot.jobs import audit
from tests.scenarios.kits.recurring import cron, every, submit
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.recurring.test_audit import audit_all


def test_what_an_audit_has_no_time_for_is_counted_and_another_shard_is_last_the_next_hour(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def note(_: object, slot: str, __: int) -> list[Any]:
        if not slot.startswith("aside"):
            read.append(slot)
        return []

    monkeypatch.setattr(audit, "read_slot_pages", note)
    slots = 2 * 121
    assert audit_all(simulation, seconds=0)["out_of_time"] == slots
    audit_all(simulation)
    simulation.clock.advance(3600)
    audit_all(simulation)
    assert len(read) == 2 * slots
    assert read[0].split("#")[1] != read[slots].split("#")[1]


def test_a_slot_that_cannot_be_read_does_not_hide_the_others(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(simulation, every(60, simulation))
    simulation.let_pass(1200)
    read_slot = simulation.world.store.read_slot
    present = simulation.clock.now() // 60_000

    def throttled(slot: str, *more: Any) -> Page[SlotEntry]:
        if slot == f"fire#0#{present - 1}":
            raise Unavailable("read_slot: throttled")
        return read_slot(slot, *more)

    monkeypatch.setattr(simulation.world.store, "read_slot", throttled)
    counts = audit_all(simulation)
    assert (counts["unavailable"], counts["jobs"], counts["expected"]) == (1, 1, 9)


def test_auditing_costs_the_same_however_much_is_stored(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(simulation, every(60, simulation))
    for day in range(1, 29):
        submit(simulation, cron(f"0 11 {day} * *"))  # stored, and not due
    simulation.let_pass(1200)
    asked: list[str] = []
    runs_of_job = simulation.world.store.runs_of

    def counted(job_id: str, *page: Any, **window: Any) -> Any:
        asked.append(job_id)
        return runs_of_job(job_id, *page, **window)

    monkeypatch.setattr(simulation.world.store, "runs_of", counted)
    assert audit_all(simulation)["jobs"] == 1
    assert len(asked) == 1
