"""A worker whose clock is off refuses to work, as the dates of AWS's replies show."""

import time
from contextlib import nullcontext
from email.utils import formatdate
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.clock import SystemClock
from onthedot.engines.aws import client as aws_client
from onthedot.wiring import aws
from onthedot.worker.direct_source import ClockCheck, clock_offset_ms
from onthedot.worker.work_source import NotAllowed
from tests.unit.engines.aws_peer import ENVIRONMENT, AwsPeer, reply

NOON = 1_772_366_400_000
DATE = "Sun, 01 Mar 2026 12:00:00 GMT"


def a_reply(ours_at_sending: int, ours_at_reply: int, date: str | None = DATE) -> ClockCheck:
    check = ClockCheck(lambda: ours_at_reply)
    check.note(ours_at_sending, {"ResponseMetadata": {"HTTPHeaders": {} if date is None else {"date": date}}})
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


@pytest.mark.parametrize("kind", ["lean", "boto3"])
@pytest.mark.parametrize(("off_seconds", "works"), [(0, True), (30, False), (-30, False)])
def test_replies_to_both_clients_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, kind: str, off_seconds: int, works: bool
) -> None:
    monkeypatch.setattr(aws, "_watchers", [])
    for name in aws_client.ONLY_BOTO3:
        monkeypatch.delenv(name, raising=False)
    for name, value in {**ENVIRONMENT, "AWS_DEFAULT_REGION": "eu-west-1", aws_client.CHOICE: kind}.items():
        monkeypatch.setenv(name, value)
    check = ClockCheck(SystemClock().now)
    aws.observe_clients(Mock(), check.note)
    peer = AwsPeer([reply(date=formatdate(time.time() + off_seconds, usegmt=True))])
    monkeypatch.setenv("AWS_ENDPOINT_URL", peer.url)
    client = aws.client("dynamodb")
    assert isinstance(client, aws_client.LeanClient) == (kind == "lean")
    client.get_item(TableName="jobs", Key={})
    client.close()
    peer.close()
    with nullcontext() if works else pytest.raises(NotAllowed):
        check.check()
