"""Incidents whose cause is the schedule of a job."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.browser.incidents.incident import Click, Incident, Scene
from tests.browser.world.past import HOUR

ZONE = "Europe/Berlin"
HERD = 60


def _paused(scene: Scene) -> None:
    scene.before(2 * HOUR, lambda: scene.submit("export-orders", every=600))
    scene.before(1 * HOUR, lambda: scene.api.did("POST", f"/v1/jobs/{scene.job}/pause"))


def _ended(scene: Scene) -> None:
    end = datetime.fromtimestamp(scene.present / 1000 - 1_800, UTC)
    scene.before(1 * HOUR, lambda: scene.submit("summer-sale", every=300, end_at=end.isoformat()))


def _exhausted(scene: Scene) -> None:
    scene.before(1 * HOUR, lambda: scene.submit("three-reminders", every=60, max_runs=3))


def _clock_change(scene: Scene) -> None:
    day = next_gap(scene.present)
    cron = f"30 2 {day.day} {day.month} *"
    scene.before(1 * HOUR, lambda: scene.submit("spring-report", cron=cron, timezone=ZONE, dst={"gap": "skip"}))


def next_gap(now: int) -> datetime:
    """Return the next day on which clocks in Berlin jump over 02:30."""
    day = datetime.fromtimestamp(now / 1000, ZoneInfo(ZONE)).replace(hour=2, minute=30, second=0, microsecond=0)
    while True:
        day += timedelta(days=1)
        through_utc = day.replace(fold=0).astimezone(UTC).astimezone(ZoneInfo(ZONE))
        if through_utc.hour != day.hour:
            return day


def _herd(scene: Scene) -> None:
    jobs = [{"name": f"report-{number:02}", "cron": "0 0 * * *", "callback_url": scene.url()} for number in range(HERD)]
    scene.before(1 * HOUR, lambda: scene.jobs.update(_batch(scene, jobs)))


def _batch(scene: Scene, jobs: list[dict[str, str]]) -> dict[str, str]:
    made = scene.api.did("POST", "/v1/jobs/batch", {"jobs": jobs})["jobs"]
    return {job["name"]: one["job_id"] for job, one in zip(jobs, made, strict=True)}


SCHEDULES = (
    Incident("paused", _paused, r"it was paused by .+ at "),
    Incident("ended", _ended, r"the schedule has ended"),
    Incident("max runs", _exhausted, r"the schedule has ended: .*\b3 runs"),
    Incident("clock change", _clock_change, r"02:30 does not exist on .*; skipped"),
    Incident("herd", _herd, rf"00:00.* {HERD}\b", (Click("link", "Schedule"),)),
)
