"""The marks that follow from fixtures, and log records of a test's own threads."""

import os
import threading
from pathlib import Path
from weakref import WeakSet

import pytest
from hypothesis import HealthCheck, settings

# Examples are not timed: the machine may be busy with other work. The gate must fail for the same reason twice.
settings.register_profile(
    "onthedot", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("onthedot")

E2E = Path(__file__).parent / "e2e"
EARLIER_THREADS = pytest.StashKey["WeakSet[threading.Thread]"]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the deployed stack, or a local AWS of their own."""
    for item in items:
        assert isinstance(item, pytest.Function)
        params = item.callspec.params if hasattr(item, "callspec") else {}
        fixtures = {params.get("kit"), params.get("clients"), *item.fixturenames}
        is_deployed = "deployment" in fixtures or params.get("home") == "stack"
        if is_deployed:
            item.add_marker("deployed")
        if is_deployed or fixtures & {"ministack", "dynamodb"} or (item.path.parent == E2E and "home" not in params):
            item.add_marker("stack")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which threads run before the test's fixtures start theirs, which may be set up before `caplog`."""
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    item.stash[EARLIER_THREADS] = WeakSet(others)


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
