"""The clients of users' AWS calls: their timeouts, and how many are made and kept."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.ports import Answer
from onthedot.targets.aws.callers import answer_in_time
from onthedot.targets.aws.clients import Clients, make_client
from tests.unit.targets.http.peer import a_call


def counted(made: list[tuple[str, float]]) -> Clients:
    """Return clients that only record the arguments they were made with."""

    def make(service: str, seconds: float) -> tuple[str, float]:
        made.append((service, seconds))
        return made[-1]

    return Clients(make)


@given(st.integers(1, 86_400_000))
def test_a_client_is_patient_enough_for_the_call_and_not_much_more(timeout_ms: int) -> None:
    _, seconds = counted([]).client("sqs", timeout_ms)
    assert timeout_ms <= seconds * 1000 <= max(1000, 2 * timeout_ms)


def test_calls_with_similar_timeouts_share_a_client() -> None:
    made: list[tuple[str, float]] = []
    clients = counted(made)
    for timeout_ms in (33_000, 60_000, 64_000):
        clients.client("sqs", timeout_ms)
    clients.client("s3", 60_000)
    assert made == [("sqs", 64), ("s3", 64)]


def test_calls_at_the_same_time_make_one_client() -> None:
    made: list[tuple[str, float]] = []
    clients = counted(made)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: clients.client("sqs", 1000), range(100)))
    assert made == [("sqs", 1)]


def test_of_many_clients_those_used_last_are_kept() -> None:
    made: list[tuple[str, float]] = []
    clients = counted(made)
    for number in range(40):
        clients.client("often", 1000)
        clients.client(f"service-{number}", 1000)
    assert made.count(("often", 1)) == 1
    clients.client("service-0", 1000)
    assert made.count(("service-0", 1)) == 2, "it was let go of"


def test_a_client_waits_as_long_as_told_and_never_tries_again_by_itself() -> None:
    config = make_client("sqs", 64, region_name="us-east-1").meta.config
    assert (config.read_timeout, config.connect_timeout) == (64, 5)
    assert config.retries["total_max_attempts"] == 1
    assert config.parameter_validation


def test_a_bug_in_a_call_that_runs_apart_is_not_swallowed() -> None:
    def broken() -> Answer:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer_in_time(a_call("http://a.test/"), "dividing", broken)


def test_a_call_without_time_is_over_at_once() -> None:
    released = threading.Event()

    def slow() -> Answer:
        released.wait(30)
        return Answer(ok=True)

    answer = answer_in_time(a_call("http://a.test/", timeout_ms=-5), "waiting", slow)
    released.set()
    assert answer == Answer(ok=False, error="timed out after -5 ms while waiting", error_class="timeout")
