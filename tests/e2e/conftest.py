"""The homes of the scenarios.

One deployed stack serves the whole tier, and is brought up in the background as soon as the tests are collected. Each
process that runs tests side by side has servers of its own, which start when the first test asks for them.
"""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from localstack import local
from tests.e2e.deployment import Deployment
from tests.e2e.homes import EQUIPPED, SERVE, STACK, Api, Home
from tests.e2e.killed_at_gates import begin_killed_at_gates
from tests.e2e.listener import Listener, listening
from tests.e2e.poisoned import begin_poisoned
from tests.e2e.serve_home import Served
from tests.e2e.worker_process import APP, a_pull_worker, begin_murderer, end_of_murderer
from tests.served import a_server, quiet_port

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".onthedot-e2e"
SERVE_HOME = HOME.with_name(".onthedot-e2e-serve")
SHARDS = 4
TIMED = ("test_gates.py", "test_gates_of_pull_workers.py", "test_priorities.py", "test_one_off_jobs.py")
"""Files that measure times. Their scenarios have their home for themselves."""
STORIES = ("test_poisoned_records.py", "test_slow_stories.py")
"""Files that wait for the stories of minutes, which began with the stack. The others run meanwhile."""
DISTURBING = ("test_health.py", "test_upgrade.py")
"""Files that stop the ticks or replace the functions of the stack. The stories of minutes end before."""
SHARED = {"home", "api", "listener", "deployment"}
SIDE_BY_SIDE = {STACK: 3, SERVE: 8, EQUIPPED: 8}
"""Scenarios of a home, which mostly wait. Each call of the stack starts functions."""
_background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="e2e-stack")
_state: dict[str, "Future[Deployment]"] = {}
_scenarios = {home: ThreadPoolExecutor(most, f"e2e-{home}") for home, most in SIDE_BY_SIDE.items()}
_begun: dict[pytest.Item, "Future[None]"] = {}


def _deploy(listener: Listener) -> Deployment:
    local.reset(HOME)
    stack = local.up(HOME, quiet_port(), SHARDS, demo=False, enforce_iam=True)
    deployment = Deployment(stack, HOME, listener)
    deployment.begin_slow_jobs()
    deployment.poisoned = begin_poisoned(deployment, SHARDS)
    deployment.killed_at_gates = begin_killed_at_gates(deployment)
    deployment.restarting = begin_murderer(deployment)
    return deployment


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each scenario its homes: the stack alone if it asks for `deployment`, and the servers otherwise too."""
    if "home" not in metafunc.fixturenames:
        return
    homes = [STACK]
    if "deployment" not in metafunc.fixturenames:
        homes += [SERVE, EQUIPPED] if "able_home" in metafunc.fixturenames else [SERVE]
    metafunc.parametrize("home", homes, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order this tier, also after pytest has grouped the tests by their home."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return 0 for other tiers."""
    assert isinstance(item, pytest.Function)
    if item.path.parent != HERE:
        return 0
    if item.path.name in STORIES or "quiet_pool" in item.fixturenames:
        return 3
    if item.path.name in DISTURBING:
        return 4
    return 2 if item.path.name in TIMED else 1


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Begin all scenarios of a home together that need nothing but the home, and wait for this one."""
    if not _is_sociable(pyfuncitem):
        return None
    for other in pyfuncitem.session.items:
        if other not in _begun and _is_sociable(other) and _home_of(other) == _home_of(pyfuncitem):
            assert isinstance(other, pytest.Function)
            given = {**pyfuncitem.funcargs, **(other.callspec.params if hasattr(other, "callspec") else {})}
            shared = {name: pyfuncitem._request.getfixturevalue(name) for name in SHARED & set(other.fixturenames)}
            wanted = {name: {**given, **shared}[name] for name in other._fixtureinfo.argnames}
            _begun[other] = _scenarios[_home_of(other)].submit(other.obj, **wanted)
    _begun[pyfuncitem].result()
    return True


def _is_sociable(item: pytest.Item) -> bool:
    """Say whether the test needs nothing but its home, and values that it is parametrized with itself."""
    assert isinstance(item, pytest.Function)
    given = [mark.args[0] for mark in item.iter_markers("parametrize")]
    values = {name for names in given for name in ([names] if isinstance(names, str) else names)}
    return _turn(item) == 1 and set(item.fixturenames) - {"request"} <= SHARED | values


def _home_of(item: pytest.Item) -> str:
    assert isinstance(item, pytest.Function)
    return str(item.callspec.params["home"]) if hasattr(item, "callspec") and "home" in item.callspec.params else STACK


def pytest_collection_finish(session: pytest.Session) -> None:
    """The slow stories begin now; the other tiers run while they take their minutes."""
    chosen = any(item.get_closest_marker("deployed") for item in session.items)
    if chosen and not session.config.option.collectonly:
        cleanup = ExitStack()
        session.config.add_cleanup(cleanup.close)
        listener = cleanup.enter_context(listening())
        cleanup.callback(_tear_down)
        _state["deployment"] = _background.submit(_deploy, listener)


def _tear_down() -> None:
    _background.shutdown(wait=True, cancel_futures=True)
    begun = _state["deployment"]
    if not begun.cancelled() and begun.exception() is None:
        begun.result().restarting.stop()
    local.down(HOME)
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def deployment() -> Deployment:
    return _state["deployment"].result(timeout=600)


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """A server that leaves programs and handlers to pull workers."""
    with _serving(SERVE) as home:
        yield home


@pytest.fixture(scope="session")
def equipped() -> Iterator[Served]:
    """A server that runs programs and handlers itself."""
    with _serving(EQUIPPED, "--shell", "--app", APP) as home:
        yield home


@contextmanager
def _serving(name: str, *options: str) -> Iterator[Served]:
    home = SERVE_HOME / f"{name}-{os.getpid()}"
    with listening() as listener, a_server(home, *options) as server:
        yield Served(name, server, listener)
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def home(request: pytest.FixtureRequest) -> Home:
    """The home of a scenario. `pytest_generate_tests` chooses it."""
    fixtures = {STACK: "deployment", SERVE: "served", EQUIPPED: "equipped"}
    found: Home = request.getfixturevalue(fixtures[request.param])
    return found


@pytest.fixture(scope="session")
def api(home: Home) -> Api:
    return home.api


@pytest.fixture(scope="session")
def listener(home: Home) -> Listener:
    return home.listener


@pytest.fixture(scope="session")
def quiet_pool(home: Home) -> None:
    """A pull pool in which only a test's own workers are. Others would pass its runs on to a worker that is dead."""
    if isinstance(home, Deployment):
        end_of_murderer(home)


@pytest.fixture(scope="module")
def able_home(home: Home) -> Iterator[Home]:
    """A home that runs programs and handlers: itself, or by a pull worker."""
    if home.name == EQUIPPED:
        yield home
        return
    with a_pull_worker(home, "--shell", "--app", APP, "--slots", "8", worker_id="all-rounder"):
        yield home
