"""Build a world: live its past, write the file, start a server on it, and go on in the present."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onthedot.serve.home import DATA
from tests.browser.world.listener import WorldListener, world_listener
from tests.browser.world.past import DAY, Past, a_past
from tests.browser.world.shop import VIDEOS, Shop, live_shop
from tests.browser.world.workers import LiveWorker, RestWorker
from tests.e2e.homes import Api
from tests.served import ServerProcess, a_server

PROGRAM: Final = (sys.executable, "-m", "tests.browser.world.program")
LONGEST: Final = 840
"""The longest attempt that the server's own workers may have, in seconds."""
REINDEX: Final = "/reindex"
"""Does not answer in time, until it is mended."""
TICK_SECONDS: Final = 90
NEAR_MS: Final = 300
"""How close to the present the past must come. The server starts then, and runs all that became due meanwhile."""


@dataclass
class World:
    """A server with a past, its targets, and its workers."""

    server: ServerProcess
    listener: WorldListener
    stack: ExitStack

    def api(self, token: str | None = None) -> Api:
        """Return the API with this token, or with that of the server's own tenant."""
        return Api(self.server.url, token or self.server.token, 0.05)

    def employ(self, worker: RestWorker, token: str) -> None:
        """Let a worker work on, until the world ends."""
        worker.api = self.api(token)
        live = LiveWorker(worker)
        live.start()
        self.stack.callback(live.stop)


@contextmanager
def a_world(home: Path, begin_days: int, plan: Callable[[Past, int, int], None], **environment: str) -> Iterator[World]:
    """Open a world whose past begins so many days ago. `plan` gets the past, the present and the listener's port."""
    with ExitStack() as stack:
        listener = stack.enter_context(world_listener())
        present = now_ms()
        with a_past(present - begin_days * DAY - 1_000) as past:
            plan(past, present, listener.port)
            past.live_until(present)
            while now_ms() - past.now > NEAR_MS:
                past.live_until(now_ms())
            past.write(home / "serve" / DATA)
        server = stack.enter_context(a_server(home, program=PROGRAM, **environment))
        stack.callback(listener.let_go.set)
        yield World(server, listener, stack)


@contextmanager
def a_shop(home: Path) -> Iterator[tuple[World, Shop]]:
    """Open the world of the shop."""
    shops: list[Shop] = []
    with a_world(home, 14, lambda past, present, port: shops.append(live_shop(past, present, port))) as world:
        shop = shops[0]
        world.listener.slow.add(REINDEX)
        for worker in shop.workers:
            world.employ(worker, shop.tokens["worker"])
        open_present(world, shop)
        yield world, shop


def open_present(world: World, shop: Shop) -> None:
    """Give the shop the work of this moment: charges and calls that wait at gates, and videos for all workers."""
    api = world.api(shop.tokens["operator"])
    hold = f"http://stripe.internal:{shop.port}/hold/charge"
    for number in range(6):
        made = api.submit(
            name="charge-order",
            callback_url=hold,
            gates=["stripe"],
            payload={"order": 52_000 + number},
            timeout_seconds=LONGEST,
        )
        shop.jobs[f"charge-order-{number}"] = made["job_id"]
    for number in range(3):
        at = f"http://crm.internal:{shop.port}/contacts"
        shop.jobs[f"sync-contact-{number}"] = api.submit(name="sync-contact", callback_url=at, gates=["crm"])["job_id"]
    encode = {"target": {"type": "python", "handler": "encode-video"}, "priority": "LOW"}
    for number in range(VIDEOS):
        name = f"encode-video-{number:02}"
        shop.jobs[name] = api.submit(name=name, payload={"video": 900 + number}, **encode)["job_id"]


def wait_for_tick(world: World) -> None:
    """Return when the server has ticked: before, its pages say that there was no tick yet."""
    deadline = time.monotonic() + TICK_SECONDS
    while not world.api().call("GET", "/v1/health")[1]["last_tick"]:
        assert time.monotonic() < deadline, "the server does not tick"
        time.sleep(0.2)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
