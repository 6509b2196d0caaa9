"""The view of dead letters: causes, what happened since, filters, and the redrive with its preview."""

import re

from playwright.sync_api import Route, expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe_in_each_look
from tests.browser.kits.console import Console, open_console, wait_until_held
from tests.browser.world.build import World
from tests.e2e.homes import Api

FAILING = "/failing"
"""A path that answers 503 while it is down."""


def test_causes_say_how_many_failed_and_whether_it_is_over(console: Opens) -> None:
    page = console("/dead-letters").page
    expect(page.locator(".lead")).to_contain_text(re.compile(r"\d+ runs failed for good in the last 24 hours, from \d"))
    over = page.get_by_role("row").filter(has=page.get_by_role("button", name="HTTP 503"))
    expect(over).to_contain_text("poll-carrier-status")
    expect(over).to_contain_text(re.compile(r"seems over: \d+ runs succeeded since"))
    goes_on = page.get_by_role("row").filter(has=page.get_by_role("button", name="HTTP 504"))
    expect(goes_on).to_contain_text(re.compile(r"no run has succeeded since .*\d\d:\d\d"))
    expect(goes_on.get_by_role("img")).to_have_attribute("aria-label", re.compile("failures over the last 24 hours"))


def test_a_cause_opens_to_its_runs_which_lead_to_the_job(console: Opens) -> None:
    opened = console("/dead-letters")
    page = opened.page
    page.get_by_role("button", name="HTTP 504").click()
    runs = page.get_by_role("table", name="Runs of this group")
    expect(runs.get_by_role("row")).to_have_count(11)
    expect(runs).to_contain_text("answered 504: upstream request timed out")
    page.get_by_role("link", name=re.compile(r"^\d+ more$")).click()
    expect(page).to_have_url(re.compile(r"by=time.*cause=HTTP"))
    opened.settle()
    page.get_by_role("table", name="Dead letters by time").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"#/jobs/job_\w+\?run="))


def test_range_grouping_and_name_are_in_the_address(console: Opens) -> None:
    opened = console("/dead-letters")
    page = opened.page
    page.get_by_role("link", name="1 h", exact=True).click()
    page.get_by_role("link", name="By job").click()
    expect(page.get_by_role("table", name="Dead letters by job")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.insert_text("poll")
    expect(page).to_have_url(re.compile("name=poll"))
    assert {"range=1h", "by=job"} <= set(opened.route.partition("?")[2].split("&"))
    expect(page.get_by_role("table", name="Dead letters by job").locator("tbody tr")).to_have_count(1)
    page.get_by_role("searchbox").fill("no-such-job")
    expect(page.get_by_role("heading", name="No dead letter matches")).to_be_visible()
    page.get_by_role("link", name="Remove the filters").click()
    expect(page.get_by_role("button", name="send-digest")).to_be_visible()


def test_the_preview_is_accessible(console: Opens) -> None:
    opened = console("/dead-letters")
    preview_of(opened, "HTTP 503")
    opened.page.get_by_role("button", name="HTTP 503", exact=True).click()
    opened.settle()
    assert axe_in_each_look(opened) == []


def preview_of(opened: Console, cause: str) -> str:
    """Select a cause and return the name of the button that runs it again."""
    page = opened.page
    page.get_by_role("checkbox", name=re.compile(f"of {cause}$")).check()
    button = page.get_by_role("button", name=re.compile(r"^Redrive \d"))
    expect(button).to_be_visible()
    return str(button.text_content())


def test_a_redrive_shows_its_preview_its_command_and_its_result(world: World) -> None:
    """It has its own tenant, because other tests look at the dead letters of the shop."""
    api, token = failing_tenant(world, 3)
    with open_console(world.server.url, token, "/dead-letters") as opened:
        page = opened.page
        preview_of(opened, "HTTP 503")
        expect(page.get_by_text("3 runs would run again")).to_be_visible()
        expect(page.get_by_text(re.compile("^onthedot redrive --since .* --cause 'HTTP 503'$"))).to_be_visible()
        page.get_by_role("tab", name="Python").click()
        expect(page.get_by_role("tabpanel")).to_contain_text('cause="HTTP 503"')
        assert len(dead(api)) == 3, "a preview runs nothing"
        world.listener.down.discard(FAILING)
        page.get_by_role("button", name="Redrive 3 runs").click()
        expect(page.locator(".redrive")).to_contain_text("3 runs start again")
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()


def test_a_redrive_can_be_stopped_between_two_calls(world: World) -> None:
    _, token = failing_tenant(world, 25)
    with open_console(world.server.url, token, "/dead-letters") as opened:
        page = opened.page
        preview_of(opened, "HTTP 503")
        held: list[Route] = []
        page.route("**/redrive", lambda route: held.append(route))  # noqa: PLW0108 - Playwright takes no built-in
        page.get_by_role("button", name="Redrive 25 runs").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        step = wait_until_held(page, held)
        page.get_by_role("button", name="Stop").click()
        step.continue_()
        expect(page.locator(".redrive")).to_contain_text("20 runs start again")
        expect(page.get_by_text("Stopped")).to_be_visible()
        assert len(held) == 1


def failing_tenant(world: World, runs: int) -> tuple[Api, str]:
    """Return the API and the token of a new tenant, of whose runs so many have failed."""
    owner = world.api()
    name = f"failing-{runs}"
    status, made = owner.call("POST", "/v1/tokens", {"tenant": name, "role": "operator", "name": "console"})
    assert status == 201, made
    api = world.api(made["token"])
    world.listener.down.add(FAILING)
    at = f"http://failing.internal:{world.listener.port}{FAILING}"
    jobs = [{"name": f"fail-{number}", "callback_url": at, "retry": {"max_retries": 0}} for number in range(runs)]
    status, batch = api.call("POST", "/v1/jobs/batch", {"jobs": jobs})
    assert status < 300, batch
    for job in batch["jobs"]:
        api.wait_for(job["job_id"], "FAILED")
    return api, str(made["token"])


def dead(api: Api) -> list[str]:
    status, found = api.call("GET", "/v1/dead-letters?limit=100")
    assert status == 200, found
    return [run["execution_id"] for run in found["dead_letters"]]
