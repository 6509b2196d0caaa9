"""All data of one tenant is found and deleted, page by page, and nothing of another."""

from collections.abc import Callable, Mapping

import pytest

from onthedot.access.ports import Principal, Token
from onthedot.core.gate_names import GateId
from onthedot.core.ids import stamped_run_id
from onthedot.core.records import Kind, Status
from onthedot.core.schema import BLOBS, blobs_of
from onthedot.events.ports import PatternEntry
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import Holder
from onthedot.targets.webhooks import SigningKey
from onthedot.workers.records import Resources, WorkerRecord
from tests.builders import a_run
from tests.contract.kits.kit import PAGE_SIZE, Kit

OTHERS = ("acm", "acme2", "acme#0", "4:acme", "ACME")
"""Names that a careless comparison takes for the deleted one."""


class Filled:
    """A kit with something of every kind for each of these tenants, and questions for it."""

    def __init__(self, kit: Kit, *tenants: str) -> None:
        self.kit = kit
        self.blobs = kit.blobs()
        self.ids = {tenant: f"job_{number}" for number, tenant in enumerate(tenants)}
        for tenant in tenants:
            self._fill(tenant)

    def _fill(self, tenant: str) -> None:
        kit, job_id, now = self.kit, self.ids[tenant], self.kit.clock.now()
        store = kit.store()
        a_run(kit.clock).in_tenant(tenant).called(job_id).due_in(9_000).stored_in(store)
        for number in range(PAGE_SIZE + 2):
            run_id = stamped_run_id(job_id, now + number)
            stamp = a_run(kit.clock).in_tenant(tenant).due_in(9_000)
            stamp.having(run_id=run_id, job_id=job_id, kind=Kind.STAMPED, definition=None).stored_in(store)
        tombstone = a_run(kit.clock).in_tenant(tenant).called(f"{job_id}x").standing(Status.DELETED, "none")
        tombstone.stored_in(store)
        kit.stores.limits.put(tenant, TenantLimits(paused=True))
        kit.stores.gates.put(tenant, "customer", GateLimits(in_flight=1))
        holder = Holder("t", "g", now, job_id)
        kit.stores.gates.take(GateId(tenant, "customer", "42"), 1, holder, room=8, newcomer=False, capacity=None)
        kit.stores.registry.register(a_worker(f"w-{job_id}", tenant, now))
        kit.stores.registry.assign(f"w-{job_id}", job_id)
        kit.stores.signing.replace(tenant, (), (SigningKey(f"whsec_{job_id}", now),))
        kit.stores.patterns.put(tenant, ["source:shop", "any"], PatternEntry(job_id, "p1", "{}", now))
        kit.stores.patterns.first_time(tenant, "event-1", 1_000 + len(self.ids), now // 1000 + 3_600)
        kit.stores.tokens.add(f"hash-{job_id}", Token(f"tok_{job_id}", Principal(tenant, "viewer", "ada"), now))
        for prefix in BLOBS:
            self.blobs.put(f"{blobs_of(tenant, prefix)}abc", b"1")

    def has(self, tenant: str) -> Mapping[str, bool]:
        """Which things of a tenant are there."""
        kit, job_id = self.kit, self.ids[tenant]
        store = kit.store()
        return {
            "job": store.get(job_id) is not None,
            "runs": bool(store.runs_of(job_id, 10).items),
            "tombstone": store.get(f"{job_id}x") is not None,
            "gate": kit.stores.gates.find(tenant, "customer") is not None,
            "state": any(kit.stores.gates.pages(GateId(tenant, "customer", "42"))),
            "worker": kit.stores.registry.find(f"w-{job_id}") is not None,
            "keys": bool(kit.stores.signing.keys(tenant)),
            "patterns": bool(list(kit.stores.patterns.matching(tenant, ["source:shop", "any"]))),
            "event": kit.stores.patterns.first_time(tenant, "event-1", 7, kit.clock.now() // 1000 + 3_600) != 7,
            "token": kit.stores.tokens.find(f"hash-{job_id}") is not None,
            "listed token": bool(kit.stores.tokens.page(100, tenant=tenant).items),
            "blobs": any(self.blobs.get(f"{blobs_of(tenant, prefix)}abc") for prefix in BLOBS),
        }


def a_worker(worker_id: str, tenant: str | None, now: int) -> WorkerRecord:
    return WorkerRecord(
        worker_id, tenant, "pull", frozenset({"http"}), Resources(), registered_at=now, heartbeat_at=now
    )


def delete_all(kit: Kit, tenant: str) -> tuple[int, int]:
    """The numbers of entries and of pages."""
    data = kit.tenant_data(kit.blobs())
    deleted, pages, cursor = 0, 0, None
    while pages == 0 or cursor is not None:
        entries, cursor = data.delete_page(tenant, cursor)
        deleted, pages = deleted + entries, pages + 1
    return deleted, pages


def test_everything_of_the_tenant_goes_but_its_limits(kit: Kit) -> None:
    filled = Filled(kit, "acme", *OTHERS)
    everything = {tenant: filled.has(tenant) for tenant in OTHERS}
    assert {there for has in everything.values() for there in has.values()} == {True}
    deleted, pages = delete_all(kit, "acme")
    while kit.tenant_data(filled.blobs).delete_blobs("acme"):
        pass
    assert set(filled.has("acme").values()) == {False}
    assert {tenant: filled.has(tenant) for tenant in OTHERS} == everything
    assert deleted > PAGE_SIZE + 10
    assert pages > 1
    assert set(kit.stores.limits.read().tenants) == {"acme", *OTHERS}


def test_the_jobs_of_a_tenant_that_have_not_ended_are_found_page_by_page(kit: Kit) -> None:
    filled = Filled(kit, "acme", *OTHERS)
    store = kit.store()
    live = {filled.ids["acme"]}
    for number in range(PAGE_SIZE + 2):
        live.add(a_run(kit.clock).in_tenant("acme").called(f"job_l{number}").due_in(9_000).stored_in(store).run_id)
    a_run(kit.clock).in_tenant("acme").called("job_over").standing(Status.SUCCEEDED, "none").stored_in(store)
    data = kit.tenant_data(filled.blobs)
    found: list[str] = []
    page = data.jobs_page("acme")
    while True:
        found += page.items
        if page.cursor is None:
            break
        page = data.jobs_page("acme", page.cursor)
    assert sorted(found) == sorted(live)


def test_blobs_are_counted_until_there_are_no_more(kit: Kit) -> None:
    blobs = kit.blobs()
    for number in range(25):
        blobs.put(f"{blobs_of('acme', BLOBS[number % 3])}{number:03}", b"1")
    blobs.put(f"{blobs_of('acme2', BLOBS[0])}000", b"1")
    data, counts = kit.tenant_data(blobs), []
    while number := data.delete_blobs("acme"):
        counts.append(number)
    assert sum(counts) == 25
    assert blobs.get(f"{blobs_of('acme2', BLOBS[0])}000") == b"1"


def test_workers_of_all_tenants_and_those_that_cannot_be_read_stay(kit: Kit) -> None:
    kit.stores.registry.register(a_worker("w-all", None, kit.clock.now()))
    for tenant in ("acme", "None", "null"):
        delete_all(kit, tenant)
    assert kit.stores.registry.find("w-all") is not None


@pytest.mark.parametrize("tenant", ["acme", "shards", "tokens", "limits", "workers"])
def test_a_tenant_without_data_has_nothing_to_delete(kit: Kit, tenant: str, shards_of: Callable[[Kit], None]) -> None:
    shards_of(kit)
    assert delete_all(kit, tenant)[0] == 0
    assert kit.tenant_data(kit.blobs()).delete_blobs(tenant) == 0
    assert kit.shards().read().used == 4


@pytest.fixture
def shards_of() -> Callable[[Kit], None]:
    def announce(kit: Kit) -> None:
        seen = kit.shards().read()
        assert kit.shards().replace(seen, seen.announced(4, 1))

    return announce
