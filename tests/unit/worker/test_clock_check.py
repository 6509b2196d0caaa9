"""A worker whose clock is off refuses to work, as the dates of AWS's replies show."""

import threading
import time
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.clock import SystemClock
from onthedot.worker.direct_source import ClockCheck, clock_offset_ms
from onthedot.worker.work_source import NotAllowed

NOON = 1_772_366_400_000
DATE = "Sun, 01 Mar 2026 12:00:00 GMT"


class Events:
    """An event system like botocore's: handlers by name, which the test calls."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}

    def register(self, name: str, handler: Any) -> None:
        self.handlers[name] = handler


def a_reply(ours_at_sending: int, ours_at_reply: int, date: str | None = DATE) -> ClockCheck:
    times = iter([ours_at_sending, ours_at_reply])
    check, events = ClockCheck(lambda: next(times)), Events()
    check.watch(events)
    assert events.handlers["before-send"](request=object()) is None, "anything else would be taken for the reply"
    headers = {} if date is None else {"date": date}
    events.handlers["after-call"](parsed={"ResponseMetadata": {"HTTPHeaders": headers}}, model=None)
    return check


@given(st.integers(0, 999), st.integers(0, 20_000), st.integers(0, 20_000))
def test_a_clock_that_is_right_is_never_suspected(millisecond: int, there: int, back: int) -> None:
    """However long a call takes, and wherever in its second the reply was made."""
    made_at = NOON + millisecond
    assert clock_offset_ms(made_at - there, made_at + back, DATE) == 0


@given(st.integers(0, 999), st.integers(0, 300), st.integers(0, 300), st.sampled_from([-1, 1]))
def test_a_clock_that_is_well_off_is_found_out(millisecond: int, there: int, back: int, side: int) -> None:
    off = side * 3_000
    made_at = NOON + millisecond
    found = clock_offset_ms(made_at - there + off, made_at + back + off, DATE)
    assert found * side > 1_000


@pytest.mark.parametrize(
    ("off_ms", "which"), [(-2_900, "behind"), (-900, None), (0, None), (1_900, None), (2_300, "ahead of")]
)
def test_a_clock_that_is_off_by_more_than_the_roundness_of_a_date_is_refused(off_ms: int, which: str | None) -> None:
    check = a_reply(NOON + off_ms, NOON + off_ms + 50)
    with nullcontext() if which is None else pytest.raises(NotAllowed, match=which):
        check.check()


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_a_reply_without_a_date_says_nothing(date: str | None) -> None:
    a_reply(0, 0, date).check()


@pytest.mark.parametrize(("off_seconds", "works"), [(0, True), (30, False), (-30, False)])
def test_replies_to_a_boto3_client_are_looked_at(off_seconds: int, works: bool) -> None:
    class Service(BaseHTTPRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(time.time() + off_seconds)

        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            pass

    session = boto3.Session("test", "test", region_name="us-east-1")
    check = ClockCheck(SystemClock().now)
    check.watch(session.events)
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.handle_request).start()
        client = session.client("dynamodb", endpoint_url=f"http://127.0.0.1:{server.server_address[1]}")
        client.get_item(TableName="jobs", Key={})
        client.close()
    with nullcontext() if works else pytest.raises(NotAllowed):
        check.check()
