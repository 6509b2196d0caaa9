"""All views of the console, each as a picture and a check of its accessibility see it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.kits.console import DESKTOP, Console, choose, open_console
from tests.browser.world.build import World
from tests.browser.world.shop import Shop


def _as_it_is(_: Page) -> None:
    """Do nothing: the view shows it at once."""


def _open_help(page: Page) -> None:
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()


def _open_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()
    page.keyboard.type("settle")
    page.get_by_role("option", name="settle-payouts").first.wait_for()


def _choose_jobs(page: Page) -> None:
    page.get_by_role("checkbox", name="Select daily-report-01").check()
    page.get_by_role("checkbox", name="Select daily-report-02").check()
    page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Pause 2 jobs").wait_for()


def _review_change(page: Page) -> None:
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("textbox", name="Cron").fill("0 6 * * mon-fri")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("dialog").locator(".say").first.wait_for()


def _fill_cron(page: Page) -> None:
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Name").fill("quote-refresh")
    page.get_by_label("Address").fill("https://quotes.example.com/refresh")
    choose(page, "Cron")
    page.get_by_role("textbox", name="Cron").fill("*/15 9-17 * * mon-fri")
    page.get_by_role("table", name="Next fires in both clocks").wait_for()


@dataclass(frozen=True)
class View:
    """A view, or a state of one."""

    name: str
    route: str
    """Names of jobs and workflows of the shop stand in braces."""
    prepare: Callable[[Page], None] = _as_it_is
    """Brings the view into the state to look at."""
    role: str | None = "operator"
    """None: without a token."""
    is_shop: bool = True
    """Whether it is of the shop. Else it is of the server's own tenant, which has no jobs."""

    def address(self, shop: Shop) -> str:
        ids = {name.replace("-", "_"): job_id for name, job_id in shop.jobs.items()}
        return self.route.format(workflow=shop.workflow, wide_workflow=shop.wide_workflow, **ids)


VIEWS: Final = (
    View("overview", "/"),
    View("jobs", "/jobs?kind=recurring"),
    View("jobs-all", "/jobs"),
    View("jobs-bulk", "/jobs?name=daily-report-0", _choose_jobs),
    View("job", "/jobs/{settle_payouts}"),
    View("job-edit", "/jobs/{settle_payouts}", _review_change),
    View("job-waiting", "/jobs/{train_forecast}"),
    View("workflows", "/workflows"),
    View("workflow", "/workflows/{workflow}"),
    View("workflow-list", "/workflows/{wide_workflow}"),
    View("schedule", "/schedule"),
    View("dead-letters", "/dead-letters?by=cause"),
    View("workers", "/workers"),
    View("worker", "/workers/worker-eu-1"),
    View("queues", "/queues"),
    View("gates", "/gates"),
    View("gate", "/gates/stripe"),
    View("new-job", "/new", _fill_cron),
)
STATES: Final = (
    View("help", "/", _open_help),
    View("palette", "/", _open_palette),
    View("viewer", "/jobs/{settle_payouts}", role="viewer"),
    View("empty", "/", is_shop=False),
    View("empty-jobs", "/jobs", is_shop=False),
    View("token", "/", role=None),
    View("unknown", "/no-such-view"),
)
"""States that need no data of the shop, or a person with another role."""


@contextmanager
def shown(
    view: View, world: World, shop: Shop, theme: str = "light", size: ViewportSize = DESKTOP
) -> Iterator[Console]:
    """Open a view in the state to look at."""
    token = None if view.role is None else shop.tokens[view.role] if view.is_shop else world.server.token
    with open_console(world.server.url, token, view.address(shop), theme, size) as console:
        view.prepare(console.page)
        yield console
