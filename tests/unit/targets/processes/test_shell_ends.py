"""Programs that must end do: in time, with the worker, and with all processes that they started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from onthedot.targets.processes import shell
from onthedot.targets.processes.shell import ShellRunner
from tests.unit.targets.kit import JumpingClock, asking_when_it_runs, pids_in, runs, until
from tests.unit.targets.processes.test_shell import a_call, sh

DEAF = "trap '' TERM; echo $$ > {0}/a; (trap '' TERM; sh -c 'echo $$ > {0}/b; exec sleep 60') & sleep 60"
"""A program and its child, both of which ignore SIGTERM."""
ESCAPED = "setsid sh -c 'echo $$ > {0}/b; exec sleep 60' & echo $$ > {0}/a; while ! test -s {0}/b; do :; done"
"""A program with a child in another session, which signals to the program's group do not reach."""


# Each program writes a line when it is ready, so that the jumping clock is looked at.
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(DEAF.replace("& sleep", "& while ! test -s {0}/b; do :; done; echo; sleep"), id="deaf"),
        pytest.param("echo $$ > {0}/a; echo $$ > {0}/b; echo; kill -STOP $PPID; sleep 60", id="stops its supervisor"),
    ],
)
def test_the_time_is_up_for_all_that_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(shell, "time", JumpingClock(18.5, (tmp_path / "b").exists))
    begun = time.monotonic()
    answer = ShellRunner().perform(a_call("sh", "-c", script.format(tmp_path), timeout_ms=20_000))
    assert time.monotonic() - begun < 30
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "timeout")
    assert not any(map(runs, pids_in(tmp_path / "a", tmp_path / "b")))


def test_a_program_is_asked_to_end_before_it_is_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / "ready"
    # When the program is ready, 18 of its 20 seconds are over: the last two are for ending.
    monkeypatch.setattr(shell, "time", JumpingClock(18, ready.exists))
    script = f"trap 'echo bye > {tmp_path}/said; exit 0' TERM; touch {ready}; echo; while :; do sleep 0.05; done"
    answer = ShellRunner().perform(a_call("sh", "-c", script, timeout_ms=20_000))
    # It ended with exit 0, but its time was over.
    assert (answer.ok, answer.error_class) == (False, "timeout")
    assert (tmp_path / "said").read_text() == "bye\n"


def test_a_program_that_is_asked_to_stop_ends_soon_even_if_it_does_not_want_to(tmp_path: Path) -> None:
    stop = Stop()
    asking = asking_when_it_runs(stop, tmp_path / "a", tmp_path / "b")
    begun = time.monotonic()
    answer = ShellRunner().perform(a_call("sh", "-c", DEAF.format(tmp_path), timeout_ms=60_000, stop=stop))
    asking.join()
    assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
    assert time.monotonic() - begun < 30
    assert not any(map(runs, pids_in(tmp_path / "a", tmp_path / "b")))


def test_a_call_that_was_asked_to_stop_before_it_began_starts_nothing(tmp_path: Path) -> None:
    stop = Stop()
    stop.ask("cancelled")
    answer = ShellRunner().perform(a_call("touch", str(tmp_path / "x"), stop=stop))
    assert (answer.error_class, list(tmp_path.iterdir())) == ("stopped", [])


def test_what_a_program_leaves_behind_holds_nothing_up_and_is_ended(tmp_path: Path) -> None:
    begun = time.monotonic()
    answer = sh(ESCAPED.format(tmp_path) + "; sleep 60 & echo done")
    assert answer == Answer(ok=True, result="done")
    assert time.monotonic() - begun < 15
    assert not any(map(runs, pids_in(tmp_path / "a", tmp_path / "b")))


@pytest.mark.parametrize("script", [DEAF, ESCAPED + "; sleep 60"])
def test_a_worker_that_is_killed_takes_the_program_and_what_it_started_with_it(tmp_path: Path, script: str) -> None:
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    worker = subprocess.Popen([sys.executable, "-c", WORKER, script.format(tmp_path)], env=environment)
    pids = pids_in(tmp_path / "a", tmp_path / "b")
    assert all(map(runs, pids))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    until(lambda: not any(map(runs, pids)))
    until(lambda: not list((tmp_path / "tmp").iterdir()))


WORKER = """
import sys
from tests.unit.targets.processes.test_shell import sh
sh(sys.argv[1])
"""


def test_a_program_that_kills_its_supervisor_is_lost_and_ended(tmp_path: Path) -> None:
    answer = sh(
        DEAF.format(tmp_path).replace("& sleep 60", f"& while ! test -s {tmp_path}/b; do :; done; kill -9 $PPID")
    )
    assert (answer.ok, answer.lost, answer.error_class) == (False, True, "lost")
    until(lambda: not any(map(runs, pids_in(tmp_path / "a", tmp_path / "b"))))


def test_the_workers_environment_cannot_be_read_from_the_program() -> None:
    environment = {**os.environ, "ONTHEDOT_TOKEN": "hush"}
    worker = [sys.executable, "-c", WITHOUT_POWERS, sys.executable, "-c", READER]
    done = subprocess.run(worker, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "exit 3: cat: WORKER: Permission denied\n"


READER = """
import os
from tests.unit.targets.processes.test_shell import sh
environment = f"/proc/{os.getpid()}/environ"
print(sh(f"cat {environment} || exit 3").error.replace(environment, "WORKER"))
"""
WITHOUT_POWERS = """
import ctypes, os, sys
# What lets root read everything, and others do not have: DAC_OVERRIDE, DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN, PERFMON.
for capability in (1, 2, 19, 21, 38):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
