"""What people and programs see is as it was recorded. After a wanted change: `python -m tests.golden.record`."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from localstack.ministack_process import running_ministack
from tests.golden import compare
from tests.golden.recordings import ON_AWS, RECORDINGS, aws_recording, described, operations
from tests.golden.rest import SCENARIOS
from tests.golden.world import on_sqlite

SHOWN = 20


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_ministack(tmp_path_factory.mktemp("ministack")) as url:
        yield url


@pytest.mark.parametrize("name", RECORDINGS)
def test_as_recorded(name: str) -> None:
    assert_recorded(name, RECORDINGS[name]())


def test_as_recorded_on_aws(ministack: str) -> None:
    assert_recorded(ON_AWS, aws_recording(ministack))


def assert_recorded(name: str, document: Any) -> None:
    found = compare.plain(document)
    lines = list(compare.differences(compare.read(name), found, name))
    more = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    assert not lines, "\n".join([f"{len(lines)} differences:", *lines[:SHOWN], *more])


def test_every_call_is_recorded_with_a_success_and_a_refusal() -> None:
    """Every route has an answer of each kind, but for those that refuse nothing but a missing token."""
    with on_sqlite() as world:
        routes = {f"{method} {path}" for method, path, _ in operations(described(world))}
    seen: dict[str, set[bool]] = {route: set() for route in routes}
    for name in SCENARIOS:
        for step in compare.read(name):
            for route in routes_of(step["do"], routes):
                seen[route].add(step["status"] < 300)
    refused = compare.read("rest_roles").keys()
    assert {route for route, found in seen.items() if True not in found} == set()
    assert {route for route, found in seen.items() if False not in found} <= refused


def routes_of(call: str, routes: set[str]) -> set[str]:
    """Return the route of a recorded call: the one with the fewest places for ids."""
    call = call.partition("?")[0]
    fitting = {route for route in routes if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route)), call)}
    fewest = min((route.count("{") for route in fitting), default=0)
    return {route for route in fitting if route.count("{") == fewest}


def test_recordings_without_a_scenario_are_deleted() -> None:
    assert {path.stem for path in compare.RECORDED.glob("*.json")} == {*RECORDINGS, ON_AWS}
