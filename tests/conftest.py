"""Set up all tests: the order of the tiers, the marks that follow from fixtures, and tests that run side by side.

In one process the tiers run in the order of `TIERS`. The end-to-end stack comes up meanwhile, with its slow jobs.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Examples are not timed: the machine may be busy with other work. The gate must fail for the same reason twice.
settings.register_profile(
    "onthedot", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("onthedot")

TESTS = Path(__file__).parent
TIERS = (
    *("unit", "golden", "model", "contract", "handlers", "infra", "scenarios", "durability"),
    *("serve", "pages", "browser", "e2e"),
)
SERVED = ("serve", "pages", "e2e")
"""Tiers that start servers and mostly wait for them."""
TOGETHER = ("tests/browser/test_j", "tests/browser/test_a", "tests/infra/")
"""The first files of groups whose fixtures take seconds. Side by side, one process runs a whole group.

A group ends with its folder, or where the next one begins.
"""

EARLIER_THREADS = pytest.StashKey["WeakSet[threading.Thread]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Leave out tests that need a stack when tests run side by side: each process would start its own stack."""
    if hasattr(config, "workerinput"):
        chosen = config.option.markexpr
        config.option.markexpr = f"({chosen}) and not stack" if chosen else "not stack"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by tier, and mark the tests that need a stack or a browser."""
    items.sort(key=lambda item: TIERS.index(tier_of(item)))
    for item in items:
        if needs_stack(item):
            item.add_marker("stack")
        if needs_deployment(item):
            item.add_marker("deployed")
        if tier_of(item) in SERVED and not needs_stack(item):
            item.add_marker("served")
        if tier_of(item) == "browser":
            item.add_marker("browser")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which threads run before the test's fixtures start theirs, which may be set up before `caplog`."""
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    item.stash[EARLIER_THREADS] = WeakSet(others)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser when the next test uses none: until then its event loop runs in this thread."""
    yield
    if item.get_closest_marker("browser") and not (nextitem and nextitem.get_closest_marker("browser")):
        from tests.browser.kits.chromium import CHROMIUM  # most tests need no browser

        CHROMIUM.close()


@pytest.fixture
def earlier_threads(request: pytest.FixtureRequest) -> "WeakSet[threading.Thread]":
    """Return the threads that ran before this test, but for its own. Those of its fixtures are not among them."""
    earlier: WeakSet[threading.Thread] = request.node.stash[EARLIER_THREADS]
    return earlier


@pytest.fixture
def caplog(earlier_threads: "WeakSet[threading.Thread]", caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Capture records of this test only: not those of packages, and of threads of earlier tests."""
    caplog.handler.addFilter(
        lambda record: "site-packages" not in record.pathname and threading.current_thread() not in earlier_threads
    )
    return caplog


def tier_of(item: pytest.Item) -> str:
    """Return the folder of the test below `tests`."""
    return item.path.relative_to(TESTS).parts[0]


def needs_stack(item: pytest.Item) -> bool:
    """Say whether the test is end to end on the stack, or uses MiniStack or DynamoDB Local."""
    assert isinstance(item, pytest.Function)
    params = item.callspec.params if hasattr(item, "callspec") else {}
    lanes = {params.get("kit"), params.get("clients"), *item.fixturenames}
    on_stack = tier_of(item) == "e2e" and params.get("home", "stack") == "stack"
    return on_stack or not lanes.isdisjoint({"ministack", "dynamodb"})


def needs_deployment(item: pytest.Item) -> bool:
    """Say whether the test uses the stack that is deployed once for all end-to-end tests."""
    assert isinstance(item, pytest.Function)
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return "deployment" in item.fixturenames or params.get("home") == "stack"


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


class Schedule(LoadScopeScheduling):  # type: ignore[misc] # the base class has no types
    """The order of tests that run side by side: a process gets whole files, and the largest come first."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((first for first in TOGETHER if _folder(file) == _folder(first) and file >= first), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Schedule:
    """Return the schedule for pytest-xdist."""
    return Schedule(config, log)
