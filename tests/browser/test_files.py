"""The files of the page: small at the first load, kept by the browser after it, from no other host."""

from playwright.sync_api import expect

from tests.browser.kits.console import open_console
from tests.browser.world.build import World
from tests.browser.world.shop import Shop

MOST_BYTES = 120_000
"""Of compressed files, without the headers of answers."""


def _add(sizes: dict[str, float], key: str, size: float) -> None:
    sizes[key] = sizes.get(key, 0) + size


def test_the_first_load_is_small_and_the_second_takes_files_from_the_cache(world: World, shop: Shop) -> None:
    with open_console(world.server.url, shop.tokens["viewer"], None) as console:
        session = console.page.context.new_cdp_session(console.page)
        session.send("Network.enable")
        sizes: dict[str, float] = {}
        addresses: dict[str, str] = {}
        session.on("Network.responseReceived", lambda e: addresses.update({e["requestId"]: e["response"]["url"]}))
        session.on("Network.dataReceived", lambda e: _add(sizes, e["requestId"], e["encodedDataLength"]))
        console.go("/")
        console.page.wait_for_load_state("networkidle")
        files = {addresses[key]: size for key, size in sizes.items() if "/console" in addresses.get(key, "")}
        total = sum(files.values())
        assert len(files) > 3, files
        assert total <= MOST_BYTES, f"{total:,.0f} bytes: {sorted(files.items(), key=lambda one: -one[1])}"
        sizes.clear()
        console.page.reload()
        console.settle()
        console.page.wait_for_load_state("networkidle")
        again = sum(size for key, size in sizes.items() if "/console/" in addresses.get(key, ""))
        assert again < total / 20, "files with the hash of their content are kept"


def test_the_page_sends_a_strict_policy(world: World) -> None:
    with open_console(world.server.url, None, "/") as console:
        answer = console.page.reload()
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        expect(console.page.get_by_role("heading", level=1)).to_be_visible()


def test_the_description_is_read_with_the_first_command_and_curl_needs_none(world: World, shop: Shop) -> None:
    with open_console(world.server.url, shop.tokens["operator"], None) as console:
        console.watch.allow("Failed to load resource")
        asked: list[str] = []
        console.page.on("request", lambda request: asked.append(request.url))
        console.page.route("**/openapi.json", lambda route: route.fulfill(status=503))
        console.go("/")
        console.page.wait_for_load_state("networkidle")
        assert not [url for url in asked if url.endswith("/openapi.json")]
        console.go("/new")
        tabs = console.page.get_by_role("tablist", name="The same as a command").get_by_role("tab")
        expect(tabs).to_have_text(["curl"])
        console.page.unroute("**/openapi.json")
        console.go("/workflows")
        console.go("/new")
        expect(tabs).to_have_text(["CLI", "curl", "Python"])
        expect(console.page.get_by_role("tabpanel")).to_contain_text("onthedot schedule")
