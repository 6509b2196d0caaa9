"""`onthedot deploy` shows a bar of stacks below the lines of `cdk`, to people only."""

import sys
from pathlib import Path

import pytest

from onthedot.cli.deploying import cdk
from onthedot.cli.deploying.stacks_bar import StacksBar, shows_a_bar
from tests.unit.cli.common.test_progress import Terminal

LINES = (
    "dev-api | 1/9 | 10:00:00 AM | CREATE_COMPLETE | AWS::SQS::Queue | a (b)",
    " ✅  dev-data (no changes)",
    "\x1b[32m ✅  dev-api\x1b[39m",
    " ✅  other",
    "✨  Deployment time: 3s",
)


def test_stacks_are_counted_as_cdk_names_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with StacksBar(["dev-data", "dev-api", "dev-worker"]) as bar:
        for line in LINES:
            bar.said(line)
    bars = [part for part in terminal.getvalue().split("\r") if "stacks" in part]
    assert [part.split()[1] for part in bars] == ["0/3", "0/3", "1/3", "2/3", "2/3", "2/3"]
    assert "Deployment time: 3s" in capsys.readouterr().out


def test_the_lines_of_a_call_are_read_while_it_runs(tmp_path: Path) -> None:
    said: list[str] = []
    program = "import sys; print('one', flush=True); print('two', file=sys.stderr, flush=True); sys.exit(7)"
    assert cdk.run([sys.executable, "-c", program], tmp_path, {}, said=said.append) == 7
    assert said == ["one", "two"]


def test_without_a_terminal_or_with_questions_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shows_a_bar([])
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert shows_a_bar(["--verbose"])
    assert not shows_a_bar(["--require-approval", "any-change"])
    assert not shows_a_bar(["--require-approval=broadening"])
