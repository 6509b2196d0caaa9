"""A worker over REST whose leases let the API wait."""

from collections.abc import Mapping
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.schema import PRIORITIES
from onthedot.worker.rest_source import LEASE_SECONDS, RestClient, RestWorkSource
from onthedot.workers.records import Resources
from tests.unit.worker.kit import an_offer

RUN: dict[str, Any] = {
    "execution_id": "job_1",
    "job_id": "job_1",
    "attempt": 1,
    "priority": "HIGH",
    "fire_time": "2030-01-01T00:00:00.000Z",
    "lease_seconds": 30,
    "alone": False,
    "target": {"type": "shell", "argv": ["true"]},
    "payload": None,
    "timeout_seconds": 60,
    "requirements": {"capabilities": [], "cpu": 0, "memory_mb": 0},
    "signature": {},
    "receipt": None,
}


class ScriptedApi(RestClient):
    """An API whose lease takes some time and then has this reply."""

    def __init__(self, longest_wait: int | None = 20) -> None:
        super().__init__("http://127.0.0.1:9", "token")
        self.now = 1_000.0
        self.takes = 0.0
        self.reply: dict[str, Any] = {"runs": [], "alone_waiting": False}
        self.asked: list[tuple[Mapping[str, Any], float]] = []
        self._longest_wait = longest_wait

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float = 5, tries: int = 3) -> Any:
        if path.endswith("/register"):
            says = {} if self._longest_wait is None else {"longest_wait_seconds": self._longest_wait}
            return {"worker_id": "patient", **says}
        self.asked.append((body, seconds))
        self.now += self.takes
        return self.reply

    def source(self) -> RestWorkSource:
        source = RestWorkSource(self, monotonic=lambda: self.now)
        source.register(an_offer())
        return source


def lease(source: RestWorkSource) -> Any:
    return source.lease(1, PRIORITIES, Resources(1, 1, 100), idle=True)


@pytest.mark.parametrize(
    ("longest", "asked", "seconds"),
    [(20, 20, 20 + LEASE_SECONDS), (0, None, LEASE_SECONDS), (None, None, LEASE_SECONDS)],
)
def test_the_api_may_wait_for_as_long_as_it_said_and_has_time_to_reply_after_that(
    longest: int | None, asked: int | None, seconds: float
) -> None:
    """The API on AWS says 0, and one of an older version would refuse the field."""
    api = ScriptedApi(longest)
    lease(api.source())
    [(body, time_out)] = api.asked
    assert (body.get("wait_seconds"), time_out) == (asked, seconds)


@pytest.mark.parametrize(("takes", "waited_ms", "begun"), [(19.0, 18_900, 18.9), (2.0, 20_000, 2)])
def test_a_lease_counts_from_the_end_of_the_wait_which_is_no_longer_than_the_call(
    takes: float, waited_ms: int, begun: float
) -> None:
    """The clock of the API may have been set ahead meanwhile."""
    api = ScriptedApi()
    api.takes, api.reply = takes, {"runs": [RUN], "alone_waiting": False, "waited_ms": waited_ms}
    [task] = lease(api.source()).tasks
    assert task.lease_end == pytest.approx(1_000 + begun + 30)


def test_runs_of_a_reply_that_comes_too_late_are_not_begun() -> None:
    """A heartbeat that did not name them may have said meanwhile that they never began."""
    api = ScriptedApi()
    api.takes, api.reply = LEASE_SECONDS + 5, {"runs": [RUN], "alone_waiting": False, "waited_ms": 1_000}
    with pytest.raises(Unavailable):
        lease(api.source())


def test_after_a_long_wait_the_worker_asks_again_at_once_and_after_a_short_one_it_pauses() -> None:
    api = ScriptedApi()
    source = api.source()
    pauses: list[float] = []
    source._ask_now.wait = pauses.append  # type: ignore[method-assign,assignment]
    for takes, pauses_after in ((20.0, []), (0.01, [2.0]), (20.0, [2.0])):
        api.takes = takes
        lease(source)
        assert source.wait(2.0)
        assert pauses == pauses_after
