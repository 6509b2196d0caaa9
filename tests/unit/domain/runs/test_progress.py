"""Reports about progress: which ones count, and how they are shortened."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.progress import MAX_TEXT, LatestProgress, ProgressReport, report_of
from onthedot.targets.processes.python_runner import report_from
from onthedot.targets.processes.shell import report_in


@pytest.mark.parametrize(
    ("line", "report"),
    [
        (b"0.42 rows 420 of 1,000", ProgressReport(0.42, "rows 420 of 1,000")),
        (b"0.42", ProgressReport(0.42)),
        (b"  1 done \r", ProgressReport(1.0, "done")),
        (b"0", ProgressReport(0.0)),
        (b"5e-1 half", ProgressReport(0.5, "half")),
        (b"- looking for rows", ProgressReport(None, "looking for rows")),
        (b"0.1 \xff\x00\t a", ProgressReport(0.1, "\ufffd? a")),
        (b"0.5 " + b"x" * 5000, ProgressReport(0.5, "x" * MAX_TEXT)),
    ],
)
def test_a_line_of_a_program_is_a_fraction_and_a_text(line: bytes, report: ProgressReport) -> None:
    assert report_in(line) == report


@pytest.mark.parametrize("line", [b"", b" ", b"-", b"42 percent", b"-0.1", b"nan", b"inf x", b"half", b"50%", b"\xff"])
def test_another_line_is_no_report(line: bytes) -> None:
    assert report_in(line) is None


@given(st.binary(max_size=2000))
def test_no_line_breaks_the_reader(line: bytes) -> None:
    report = report_in(line)
    assert report is None or len(report.text or "") <= MAX_TEXT


@pytest.mark.parametrize(
    ("fraction", "kept"), [(0.5, 0.5), (1, 1.0), (1.0000001, 1.0), (-3, 0.0), (math.inf, 1.0), (math.nan, None)]
)
def test_the_fraction_of_a_handler_never_fails_its_work(fraction: float, kept: float | None) -> None:
    assert report_of(fraction, None) == ProgressReport(kept)


def test_the_text_of_a_handler_is_cut_to_one_line_that_can_be_stored() -> None:
    assert report_of(None, "a\n b\ud800" + "x" * 1000).text == "a b?" + "x" * (MAX_TEXT - 4)
    assert report_of(0.5, "").text is None


@pytest.mark.parametrize("values", [("0.5", None), (True, None), (0.5, 7), ([], "x")])
def test_values_of_other_types_are_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="of a progress must be"):
        report_of(*values)
    assert report_from(list(values)) is None


@pytest.mark.parametrize("values", [None, 1, [], [1], [1, "a", 2], {"a": 1}])
def test_a_message_of_another_shape_is_no_report(values: Any) -> None:
    assert report_from(values) is None


def test_the_latest_report_counts_and_is_sent_once() -> None:
    latest = LatestProgress()
    for number in range(1000):
        latest.report(ProgressReport(number / 1000))
    sent = latest.unsent
    assert sent == ProgressReport(0.999)
    latest.report(ProgressReport(1.0))  # made while the heartbeat was on its way
    latest.mark_sent(sent)
    assert latest.unsent == ProgressReport(1.0)
    latest.mark_sent(latest.latest)
    assert not latest.unsent, "it was sent"
    assert latest.latest == ProgressReport(1.0)


def test_there_is_no_report_at_first() -> None:
    latest = LatestProgress()
    assert (latest.latest, latest.unsent) == (None, None)


def test_a_report_is_stored_without_secrets() -> None:
    stored = ProgressReport(0.5, "copying from https://ops:hunter2@db.example.com, token=abc123").as_stored(7)
    assert stored == ProgressReport(0.5, "copying from https://***@db.example.com, token=***", 7)
    assert ProgressReport(0.5).as_stored(7) == ProgressReport(0.5, None, 7)
