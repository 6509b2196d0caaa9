"""The bar is for people at a terminal only."""

import io
import sys

import pytest

from onthedot.cli.output import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_drawn"), [(Terminal(), True), (io.StringIO(), False)])
def test_a_bar_grows_on_a_terminal_and_a_pipe_gets_nothing(
    stream: io.StringIO, is_drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("starting") as bar:
        bar.show(1)
        bar.show(1, 4, "1,234 entries")
        bar.say("waiting")
        bar.show(4, 4)
    assert ("4/4" in stream.getvalue(), "waiting" in stream.getvalue()) == (is_drawn, is_drawn)
    assert bool(stream.getvalue()) is is_drawn
