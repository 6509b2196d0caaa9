"""Rows of one line fit into a terminal."""

import pytest
from rich.cells import cell_len

from onthedot.cli.output import cut, fitted, print_lines, wrapped


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [("report", 6, "report"), ("reports", 6, "repor…"), ("日本語", 4, "日…"), ("ab", 1, "…")],
)
def test_a_long_text_is_cut(text: str, cells: int, shown: str) -> None:
    assert cut(text, cells) == shown
    assert cell_len(shown) <= cells


def test_the_widest_columns_are_cut() -> None:
    assert fitted([10, 50, 5], 80) == [10, 50, 5]
    assert fitted([10, 50, 40], 80) == [10, 33, 33]
    assert fitted([30, 15, 40], 80, [2]) == [30, 15, 31], "texts are cut first"
    assert fitted([60, 15, 40], 80, [2]) == [49, 15, 12], "and others when that is not enough"
    assert fitted([100] * 3, 10) == [6, 6, 6], "a very narrow terminal breaks lines"


def test_each_row_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_lines(("NAME", "WHY"), [("report", "x" * 100), ("日本", "-")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["NAME    WHY", f"report  {'x' * 31}…", "日本    -"]


def test_a_column_without_a_value_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_lines(("NAME", "WHY", "NEXT"), [("report", "-", "09:00"), ("a", "-", "-")])
    assert capsys.readouterr().out.splitlines() == ["NAME    NEXT", "report  09:00", "a       -"]
    print_lines(("NAME",), [("-",)])
    assert capsys.readouterr().out.splitlines() == ["NAME", "-"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two", ["one two"]),
        ("one two three", ["one two", "three"]),
        ("a" * 20, ["a" * 8, "a" * 8, "aaaa"]),
    ],
)
def test_a_text_is_broken_between_words(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8) == lines
