"""Traces by W3C Trace Context: read from headers, made from ids, sent with a span of each attempt."""

import re

import pytest

from onthedot.core.traces import (
    fresh_trace,
    read_traceparent,
    read_xray,
    span_id_of,
    trace_id_of,
    trace_of,
    traceparent,
)

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("header", "trace"),
    [
        (f"00-{TRACE}-{SPAN}-01", f"{TRACE}-{SPAN}-01"),
        (f"00-{TRACE}-{SPAN}-00", f"{TRACE}-{SPAN}-00"),
        (f"  00-{TRACE}-{SPAN}-03 ", f"{TRACE}-{SPAN}-01"),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-brings", f"{TRACE}-{SPAN}-01"),
    ],
)
def test_a_valid_header_is_read(header: str, trace: str) -> None:
    assert read_traceparent(header) == trace


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "junk",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}x-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n00-{TRACE}-{SPAN}-01",
        "٠٠-" + TRACE + f"-{SPAN}-01",
    ],
)
def test_any_other_header_begins_a_new_trace(header: str | None) -> None:
    assert read_traceparent(header) is None


def test_the_trace_of_x_ray_is_taken() -> None:
    text = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0"
    assert read_xray(text) == "5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"
    without = read_xray("Self=1-1-1;Root=1-5759e988-bd862e3fe1be46a994272793")
    assert re.fullmatch(r"5759e988bd862e3fe1be46a994272793-[0-9a-f]{16}-01", without or "")
    assert [read_xray(text) for text in (None, "", "Root=1-xyz", "Parent=53995c3f42cd8ad8")] == [None] * 4


def test_a_fresh_trace_is_valid_and_another_each_time() -> None:
    assert read_traceparent(f"00-{fresh_trace()}") is not None
    assert fresh_trace() != fresh_trace()


def test_a_run_without_a_stored_trace_always_has_the_same_one_and_no_other_run_has_it() -> None:
    own = trace_of("job_a.1", None)
    assert read_traceparent(f"00-{own}") == own
    assert trace_of("job_a.1", None) == own
    assert trace_id_of("job_a.2", None) != trace_id_of("job_a.1", None)


def test_each_attempt_is_a_span_of_the_runs_trace() -> None:
    stored = f"{TRACE}-{SPAN}-00"
    headers = [traceparent("job_a", stored, attempt) for attempt in (1, 2)]
    assert headers == [f"00-{TRACE}-{span_id_of('job_a', attempt)}-00" for attempt in (1, 2)]
    assert len({SPAN, *(header.split("-")[2] for header in headers)}) == 3
    assert trace_id_of("job_a", stored) == TRACE
