"""The progress bar is for people on a terminal only."""

import io
import sys

import pytest

from onthedot.cli.common.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress() as bar:
        bar.show(0, 0)
        bar.show(1, 4)
        bar.show(4, 4)
    return stream.getvalue()


def test_people_see_it_grow_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = drawn(Terminal(), monkeypatch).removeprefix("\r").split("\r")
    assert first == "━" * 5 + "╌" * 15 + " 1/4\x1b[K"
    assert last == "━" * 20 + " 4/4\x1b[K\n"


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(io.StringIO(), monkeypatch) == ""
