"""The figures of the benchmark beside other tools: notes, percentiles, rounds, bars, tools that are missing or fail."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers.loads import Sizes
from benchmarks.peers.measured import (
    NOTE_BYTES,
    Figures,
    Load,
    Note,
    bars,
    figures,
    over_rounds,
    read_notes,
    share_of_all,
)
from benchmarks.peers.programs import calls
from benchmarks.peers.running import Program, program
from benchmarks.peers.tools import ONTHEDOT, TOOLS, Tool

DUE = 1_700_000_000_000
A_ROW = Figures(
    client_ms=0.1,
    worker_ms=0.3,
    store_ms=0.2,
    created_per_second=2_000,
    finished_per_second=1_000,
    instant_p50=300,
    instant_p99=600,
    instant_max=700,
    steady_p50=2,
    steady_p99=6,
    steady_max=8,
    early=0,
    earliest_ms=0,
    missing=0,
    again=0,
)


def a_load(late: Sequence[float], *, due: int = DUE, cpu: tuple[float, float, float] = (0, 0, 0)) -> Load:
    notes = [Note(number, due, round((due + ms) * 1000)) for number, ms in enumerate(late)]
    return Load(range(len(late)), DUE / 1000 - 1, DUE / 1000 - 0.5, *cpu, notes)


def test_a_job_writes_a_note_of_fixed_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(calls.NOTES, str(tmp_path / "notes"))
    calls._notes.cache_clear()
    calls.note(7, DUE)
    calls.note(8, calls.NOW)
    os.close(calls._notes())
    calls._notes.cache_clear()
    content = (tmp_path / "notes").read_bytes()
    assert len(content) == 2 * NOTE_BYTES
    assert [(note.number, note.due) for note in read_notes(content)] == [(7, DUE), (8, 0)]


def test_a_row_has_cpu_for_each_job_throughput_and_percentiles() -> None:
    flow = a_load([0] * 100, cpu=(10, 30, 20))
    row = figures(flow, a_load(range(1, 1_001)), a_load([2.5] * 50), syncs=None)
    assert (row.client_ms, row.worker_ms, row.store_ms) == (0.1, 0.3, 0.2)
    assert row.own_ms == pytest.approx(0.4)
    assert row.all_ms == pytest.approx(0.6)
    assert row.created_per_second == pytest.approx(200)
    assert row.finished_per_second == pytest.approx(100)
    assert (row.instant_p50, row.instant_p99, row.instant_max) == (501, 991, 1_000)
    assert (row.steady_p50, row.steady_p99, row.steady_max) == (2.5, 2.5, 2.5)
    assert (row.early, row.missing, row.again) == (0, 0, 0)


def test_early_runs_are_counted_to_the_microsecond() -> None:
    row = figures(a_load([0]), a_load([-0.001, 5]), a_load([-400, 3, 3]), syncs=1.5)
    assert row.early == 2
    assert row.earliest_ms == pytest.approx(400)


def test_missing_runs_and_second_runs_are_counted() -> None:
    load = a_load([1, 2, 3])
    broken = replace(load, notes=[load.notes[0], load.notes[0], load.notes[1]])
    row = figures(load, broken, load, syncs=None)
    assert (row.missing, row.again) == (1, 1)


def test_rounds_give_the_median_and_the_worst_of_faults() -> None:
    rounds = [replace(A_ROW, worker_ms=ms, early=early) for ms, early in ((0.2, 0), (0.9, 3), (0.3, 0))]
    row = over_rounds(rounds)
    assert row.worker_ms == 0.3
    assert row.early == 3
    assert row.syncs is None
    assert over_rounds([replace(A_ROW, syncs=2.0), A_ROW]).syncs == 2.0


def test_the_bars_compare_with_the_best_peer_of_the_run() -> None:
    peers = {"a": A_ROW, "b": replace(A_ROW, client_ms=0.5)}
    held = bars(replace(A_ROW, worker_ms=0.2, instant_p99=599), peers, {"a": A_ROW})
    assert [bar.holds for bar in held] == [True] * len(held)
    missed = bars(replace(A_ROW, worker_ms=0.51, instant_p99=601, steady_p99=11, early=1, missing=1), peers, peers)
    assert [bar.holds for bar in missed] == [False] * 6
    assert share_of_all(A_ROW, peers) == pytest.approx(1)


def test_a_peer_with_other_settings_is_shown_and_is_no_bar() -> None:
    [tuned] = [tool for tool in TOOLS if not tool.is_default]
    faster = replace(A_ROW, client_ms=0, worker_ms=0.001, instant_p99=1)
    rows = {ONTHEDOT: A_ROW, tuned.row: faster}
    assert len(command.judge(rows)) == 4
    assert not command.judge({tuned.row: faster})


@pytest.mark.slow
def test_a_tool_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(tool: Tool, sizes: Sizes) -> Figures:
        if tool is TOOLS[1]:
            raise RuntimeError("the worker ended with 1: [/bold] in its log")
        return A_ROW

    monkeypatch.setattr(command, "measure", measure)
    monkeypatch.setattr(command, "missing", lambda tool: "not installed" if tool is TOOLS[2] else None)
    rounds = command.Rounds(TOOLS[:4], Sizes())
    rounds.play(2)
    assert list(rounds.rows()) == [TOOLS[0].row, TOOLS[3].row]
    assert rounds.skipped == {TOOLS[1].row: "it failed", TOOLS[2].row: "not installed"}


def test_syncs_are_counted_within_the_load(tmp_path: Path) -> None:
    trace = tmp_path / "redis.trace"
    trace.write_text(
        "41 99.000000 fdatasync(7) = 0\n"
        "41 100.500000 fdatasync(7 <unfinished ...>\n"
        "42 100.600000 fsync(9) = 0\n"
        "41 100.700000 <... fdatasync resumed>) = 0\n"
        "41 103.000000 fdatasync(7) = 0\n"
    )
    assert Program(None, tmp_path / "log", trace).syncs(100, 102) == 2  # type: ignore[arg-type] # no process is asked


def test_stopping_a_program_ends_its_children(tmp_path: Path) -> None:
    """Cover a program that starts another one and does not pass signals on, as wrappers of Node do."""
    with program(["sh", "-c", "sleep 300 & echo $! && wait"], tmp_path / "log", pipes=True) as wrapper:
        assert wrapper.process.stdout is not None
        child = Path(f"/proc/{int(wrapper.process.stdout.readline())}/stat")
        assert child.exists()
    assert has_ended(child)


def has_ended(stat: Path) -> bool:
    """Whether a killed process is gone, or waits for its parent to notice, within half a minute."""
    for _ in range(3_000):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False
