"""One deployed stack for the whole tier, brought up in the background as soon as the tests are collected."""

import shutil
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from localstack import local
from tests.e2e.deployment import Api, Deployment
from tests.e2e.killed_at_gates import begin_killed_at_gates
from tests.e2e.listener import Listener, listening
from tests.e2e.poisoned import begin_poisoned
from tests.e2e.worker_process import begin_murderer, end_of_murderer

HOME = Path(__file__).parents[2] / ".onthedot-e2e"
SHARDS = 4
_background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="e2e-stack")
_state: dict[str, "Future[Deployment]"] = {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _deploy(listener: Listener) -> Deployment:
    local.reset(HOME)
    stack = local.up(HOME, _free_port(), SHARDS, demo=False, enforce_iam=True)
    deployment = Deployment(stack, HOME, listener)
    deployment.begin_slow_jobs()
    deployment.poisoned = begin_poisoned(deployment, SHARDS)
    deployment.killed_at_gates = begin_killed_at_gates(deployment)
    deployment.restarting = begin_murderer(deployment)
    return deployment


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the walk along the page last: it has a stack of its own, and would make the others wait for the machine."""
    items.sort(key=lambda item: item.path.name == "test_deploy_page.py")


def pytest_collection_finish(session: pytest.Session) -> None:
    """The slow stories begin now; the other tiers run while they take their minutes."""
    chosen = any("deployment" in getattr(item, "fixturenames", ()) for item in session.items)
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
    return _state["deployment"].result(timeout=300)


@pytest.fixture(scope="session")
def api(deployment: Deployment) -> Api:
    return deployment.api


@pytest.fixture(scope="session")
def listener(deployment: Deployment) -> Listener:
    return deployment.listener


@pytest.fixture(scope="session")
def quiet_pool(deployment: Deployment) -> None:
    """A pull pool in which only a test's own workers are."""
    end_of_murderer(deployment)
