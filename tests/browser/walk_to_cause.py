"""The walk of the animation: from the start page to a failing job, its cause, the redrive, and the success."""

from playwright.sync_api import expect

from tests.browser.kits.console import Console
from tests.browser.kits.walk import Walk
from tests.browser.world.build import REINDEX, World

READ_MS = 2_600
GLANCE_MS = 1_400


def walk_to_cause(console: Console, walk: Walk, world: World) -> None:
    """Find why the catalog is not indexed, mend the target, and run the failed run again."""
    page = console.page
    walk.show(READ_MS)
    walk.click(page.get_by_role("main").get_by_role("link", name="reindex-catalog").first)
    console.settle()
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("answered 504")
    walk.show(READ_MS)
    world.listener.slow.discard(REINDEX)
    run = page.get_by_role("region", name="Run of")
    walk.click(run.get_by_role("button", name="Redrive"))
    dialog = page.get_by_role("dialog")
    again = dialog.get_by_role("button", name="Redrive 1 run")
    again.wait_for()
    walk.show(GLANCE_MS)
    walk.click(again)
    expect(run).to_contain_text("Succeeded")
    expect(run).to_contain_text('"ok": true')
    walk.show(GLANCE_MS)
    expect(why).to_contain_text("succeeded")
    walk.show(READ_MS)
