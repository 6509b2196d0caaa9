"""The tenant `shop`: the jobs of a small web shop, with two weeks of history and a busy last hour."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tests.browser.world.past import DAY, HOUR, MINUTE, Past, PastApi
from tests.browser.world.targets import down, now_and_then, unreachable
from tests.browser.world.workers import ENDLESS, RestWorker, Work, employ

TENANT: Final = "shop"
HERD: Final = 24
"""Jobs that all fire at midnight."""
RECEIPTS: Final = 260
"""Jobs that run once: in the last hour and in the next."""
VIDEOS: Final = 11
"""Long jobs of the pool `pull`: more than its workers have slots."""
CLOCKWORK: Final = {
    "* 7-20 * * *": ("check-payments", "check-stock-levels", "track-parcels", "refresh-search", "rate-traffic"),
    "*/10 * * * *": ("warm-cache-de", "warm-cache-fr", "warm-cache-at"),
    "*/15 * * * *": ("report-sales", "sync-newsletter", "rotate-banners", "expire-coupons"),
    "0 * * * *": ("sum-revenue", "sum-returns", "ping-partners", "trim-logs"),
}
"""Names of jobs by their cron. They give the coming day its days and nights."""
WIDE: Final = 500
"""Jobs of the widest workflow: as many as one may have."""
WORKS: Final = {
    "extract-orders": Work(11),
    "extract-stock": Work(7),
    "extract-customers": Work(19),
    "load-warehouse": Work(46),
    "transform-revenue": Work(ENDLESS),
    "transform-stock": Work(31),
    "render-invoice": Work(3, {"status": "LOST", "error": "killed by signal 9 at 2,048 MB"}),
    "publish-dashboards": Work(9),
    "notify-team": Work(1),
    "train-forecast": Work(600),
    "encode-video": Work(ENDLESS),
}
"""How long the handlers of the shop work, and how they end."""
ALIVE: Final = ("worker-eu-1", "worker-eu-2")
SILENT: Final = "worker-eu-3"
CAPABILITIES: Final = ("python", *(f"python:{name}" for name in WORKS))


@dataclass
class Shop:
    """The ids of what the shop has."""

    present: int
    port: int
    jobs: dict[str, str] = field(default_factory=dict)
    """Ids by name."""
    workers: list[RestWorker] = field(default_factory=list)
    """The workers that are alive."""
    workflow: str = ""
    wide_workflow: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    """By role."""

    def at(self, host: str, path: str) -> str:
        return f"http://{host}.internal:{self.port}/{path}"


def live_shop(past: Past, present: int, port: int) -> Shop:
    """Plan the life of the shop up to the present. It begins two weeks before."""
    shop = Shop(present, port)
    _troubles(past, present)
    ops = past.api(TENANT, "operator", "ci-deploy")
    past.plan(present - 14 * DAY, lambda: _clockwork(shop, ops))
    past.plan(present - 14 * DAY + MINUTE, lambda: _daily_jobs(shop, ops))
    past.plan(present - 26 * HOUR, lambda: _hourly_jobs(shop, ops))
    past.plan(present - 65 * MINUTE, lambda: _busy_jobs(shop, ops))
    past.plan(present - 64 * MINUTE, lambda: _receipts(past, shop, ops))
    past.plan(present - 3 * DAY, lambda: _pause(shop, past.api(TENANT, "operator", "maria")))
    past.plan(present - 50 * MINUTE, lambda: _hire(past, shop))
    past.plan(present - 44 * MINUTE, lambda: _poisoned(shop, ops))
    past.plan(present - 4 * MINUTE, lambda: _workflows(shop, ops))
    for role in ("admin", "operator", "viewer", "worker"):
        shop.tokens[role] = past.token(TENANT, role, f"console-{role}")
    return shop


def _troubles(past: Past, present: int) -> None:
    rules = past.targets.rules
    rules["carriers.internal"] = down(present - 39 * MINUTE, present - 22 * MINUTE)
    rules["payouts.internal"] = unreachable(present - DAY, present, "payouts.internal")
    rules["search.internal"] = down(present - 5 * HOUR, present, 504, "upstream request timed out")
    rules["mail.internal/digest"] = down(present - 8 * MINUTE, present, 422, "that is not an address")
    rules["prices.internal"] = now_and_then(0.02, 502, "bad gateway", past.chance)
    rules["mail.internal/receipt"] = now_and_then(0.01, 429, "slow down", past.chance)


def _clockwork(shop: Shop, ops: PastApi) -> None:
    """Submit the jobs that lists show last. The frequent ones begin in the last hour: it has the runs that are seen."""
    begin = {"start_at": (shop.present - 65 * MINUTE) / 1000}
    for cron, names in CLOCKWORK.items():
        for name in names:
            _daily(shop, ops, name, cron, shop.at("clock", name), **begin)
    for number in range(1, HERD + 1):
        at = shop.at("reports", str(number))
        _daily(shop, ops, f"daily-report-{number:02}", "0 0 * * *", at, tags={"team": "reports"})


def _daily(shop: Shop, ops: PastApi, name: str, cron: str, url: str, **more: Any) -> None:
    job = {"name": name, "cron": cron, "timezone": "Europe/Berlin", "callback_url": url, **more}
    shop.jobs[name] = ops.submit(**{"tags": {"team": "core"}, **job})


def _daily_jobs(shop: Shop, ops: PastApi) -> None:
    daily = partial(_daily, shop, ops)

    slow = {"max_retries": 3, "backoff_seconds": 4}
    payload = {"currency": "EUR", "dry_run": False}
    daily("settle-payouts", "30 2 * * *", shop.at("payouts", "settle"), priority="HIGH", retry=slow, payload=payload)
    daily("backup-orders", "0 3 * * *", shop.at("backup", "orders"))
    daily("close-day", "55 23 * * *", shop.at("books", "close"))
    daily("export-orders", "0 6 * * *", shop.at("export", "orders"), tags={"team": "data"})


def _hourly_jobs(shop: Shop, ops: PastApi) -> None:
    def hourly(name: str, cron: str, url: str, **more: Any) -> None:
        shop.jobs[name] = ops.submit(name=name, cron=cron, callback_url=url, **more)

    once = {"max_retries": 0}
    hourly("cleanup-sessions", "7 * * * *", shop.at("sessions", "cleanup"), priority="LOW")
    hourly("reindex-catalog", "*/20 * * * *", shop.at("search", "reindex"), priority="LOW", retry=once)
    hourly("send-digest", "*/5 * * * *", shop.at("mail", "digest"), retry=once)


def _busy_jobs(shop: Shop, ops: PastApi) -> None:
    def often(name: str, every: int, url: str, **more: Any) -> None:
        shop.jobs[name] = ops.submit(name=name, every=every, callback_url=url, **more)

    ops.did("PUT", "/v1/gates/stripe", {"in_flight": 2, "per_second": 10})
    ops.did("PUT", "/v1/gates/crm", {"in_flight": 5, "paused": True})
    quick = {"max_retries": 2, "backoff_seconds": 1}
    often("poll-carrier-status", 60, shop.at("carriers", "v2/status"), retry=quick, payload={"carrier": "dhl"})
    often("sync-inventory", 12, shop.at("inventory", "sync"), tags={"team": "stock"})
    often("refresh-prices", 15, shop.at("prices", "refresh"), priority="LOW", tags={"team": "stock"})
    often("expire-carts", 30, shop.at("carts", "expire"), priority="LOW")
    often("charge-cards", 60, shop.at("stripe", "charge"), priority="HIGH", gates=["stripe"])


def _receipts(past: Past, shop: Shop, ops: PastApi) -> None:
    begin, span = past.now + MINUTE, 110 * MINUTE
    jobs = [
        {
            "name": "send-receipt",
            "at": round(begin + past.chance.random() * span) / 1000,
            "callback_url": shop.at("mail", "receipt"),
            "payload": {"order": 48_000 + number},
            "priority": past.chance.choice(["HIGH", "MEDIUM", "MEDIUM", "LOW"]),
        }
        for number in range(RECEIPTS)
    ]
    ops.did("POST", "/v1/jobs/batch", {"jobs": jobs})


def _pause(shop: Shop, api: PastApi) -> None:
    api.did("POST", f"/v1/jobs/{shop.jobs['export-orders']}/pause")


def _hire(past: Past, shop: Shop) -> None:
    api = past.api(TENANT, "worker", "pool-eu")

    def worker(worker_id: str, *more: str) -> RestWorker:
        return RestWorker(api, worker_id, WORKS, (*CAPABILITIES, *more), host=f"{worker_id}.internal")

    shop.workers = [employ(past, worker(worker_id)) for worker_id in ALIVE]
    employ(past, worker(SILENT, "gpu"), until=shop.present - 6 * MINUTE)
    training = {"type": "python", "handler": "train-forecast"}
    shop.jobs["train-forecast"] = past.api(TENANT, "operator", "data").submit(
        name="train-forecast",
        target=training,
        requirements={"capabilities": ["gpu"]},
        at=(shop.present - 4 * MINUTE) / 1000,
    )


def _poisoned(shop: Shop, ops: PastApi) -> None:
    target = {"type": "python", "handler": "render-invoice"}
    for number in (1, 2, 3):
        name = f"render-invoice-{number}"
        shop.jobs[name] = ops.submit(name=name, target=target, payload={"pages": 4_000}, requirements={"memory_mb": 1})


def _workflows(shop: Shop, ops: PastApi) -> None:
    shop.workflow = str(ops.did("POST", "/v1/workflows", {"name": "nightly-etl", "jobs": _etl()})["workflow_id"])
    step = {"callback_url": shop.at("import", "row"), "delay": 7 * 24 * 3600}
    wide = [{"key": "begin", "name": "begin", **step}]
    rows = [f"row-{number:03}" for number in range(WIDE - 1)]
    wide += [{"key": row, "name": row, "depends_on": ["begin"], **step} for row in rows]
    answer = ops.did("POST", "/v1/workflows", {"name": "import-catalog", "jobs": wide})
    shop.wide_workflow = str(answer["workflow_id"])


def _etl() -> list[dict[str, Any]]:
    def step(key: str, *parents: str) -> dict[str, Any]:
        return {"key": key, "depends_on": [*parents], "target": {"type": "python", "handler": key}, "name": key}

    extracts = ("extract-orders", "extract-stock", "extract-customers")
    return [
        *(step(key) for key in extracts),
        step("load-warehouse", *extracts),
        step("transform-revenue", "load-warehouse"),
        step("transform-stock", "load-warehouse"),
        step("publish-dashboards", "transform-revenue", "transform-stock"),
        step("notify-team", "publish-dashboards"),
    ]
