"""The fires of a job that are not as usual: in a herd minute, or overdue because the scheduler does not tick."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Route, expect

from tests.browser.conftest import OpensIncident
from tests.browser.incidents.incident import Scene
from tests.browser.incidents.schedules import HERD
from tests.browser.incidents.targets import LATE_TICK
from tests.browser.kits.console import Console, open_console
from tests.browser.world.build import World

Worlds = tuple[World, dict[str, Scene]]


def changed(**values: Any) -> Any:
    """Answer as the API does, with other values."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=json.dumps({**response.json(), **values}))

    return answer


@contextmanager
def late_job(late_world: Worlds, minutes: int) -> Iterator[Console]:
    """Open the page of the job, whose next fire was due so many minutes ago."""
    world, scenes = late_world
    scene = scenes[LATE_TICK.name]
    due = (datetime.now(UTC) - timedelta(minutes=minutes, seconds=20)).isoformat(timespec="milliseconds")
    with open_console(world.server.url, scene.tokens["operator"], None) as opened:
        opened.page.route(f"**/v1/jobs/{scene.job}", changed(next_fire_time=due.replace("+00:00", "Z")))
        opened.go(f"/jobs/{scene.job}")
        yield opened


def test_a_herd_minute_is_told_with_a_way_to_it(at_incident: OpensIncident) -> None:
    opened = at_incident("herd")
    page = opened.page
    fires = page.get_by_role("region", name="At 00:00 every day")
    expect(fires).to_contain_text(re.compile(rf"A herd: {HERD} runs\b"))
    assert opened.watch.count("GET /v1/forecast") <= 1, "one request, and none when the hour has the minute"
    fires.get_by_role("link", name=re.compile("^Schedule at")).click()
    expect(page.get_by_role("heading", name=re.compile("^Who fires at .* 0[12]:00"))).to_be_visible()
    expect(page.locator(".who2")).to_contain_text("others")


def test_an_overdue_fire_is_no_coming_one(late_world: Worlds) -> None:
    with late_job(late_world, 3) as opened:
        page = opened.page
        card = page.get_by_role("region", name="Every minute")
        expect(card).to_contain_text(re.compile(r"Due 3 min ago, at \d\d:\d\d:\d\d: waiting for the scheduler\."))
        rows = page.get_by_role("table", name="Next fires in both clocks").locator("tbody tr td:last-child")
        expect(rows).to_have_text([re.compile(r"^\d+ s$"), *[re.compile(r"^\d min \d+ s|\d min$")] * 4])


def test_the_overview_moves_no_overdue_fire_to_now(late_world: Worlds) -> None:
    world, scenes = late_world
    scene = scenes[LATE_TICK.name]
    with open_console(world.server.url, scene.tokens["operator"], None) as opened:
        now = datetime.now(UTC)
        times = [(now + timedelta(minutes=each)).isoformat(timespec="milliseconds") for each in (0, 30)]
        coming = [{"job_id": scene.job, "name": scene.name, "fire_time": each} for each in times]
        opened.page.route("**/v1/overview", changed(next=coming))
        opened.go("/")
        card = opened.page.get_by_role("region", name="The next hour")
        expect(card).to_contain_text("scheduler is not ticking")
        expect(card.locator(".nextline a")).to_have_text(
            [f"{scene.name} overdue", re.compile(rf"^{scene.name} (\S.* )?\d\d:\d\d:\d\d$")]
        )
