"""Handlers that the pull workers of these tests run: well-behaved ones, slow ones, and ones that kill."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from onthedot import Context, job


@job("echo")
def echo(payload: Any, context: Any) -> Any:
    return {"payload": payload, "run": context.run_id, "attempt": context.attempt}


@job("nap")
def nap(payload: Any) -> str:
    time.sleep(float(payload))
    return "rested"


@job("report")
def report(_payload: Any, context: Context) -> str:
    """Report half of the work, and wait to be cancelled."""
    context.progress(0.5, "half")
    while not context.cancelled:
        time.sleep(0.05)
    return "stopped in order"


@job("fail-once")
def fail_once(payload: Any, context: Any) -> str:
    if context.attempt == 1:
        raise ValueError(f"not yet, and password={payload} is a secret")
    return "at last"


@job("large")
def large(payload: Any) -> str:
    return "x" * int(payload)


@job("die")
def die(payload: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@job("kill-the-worker")
def kill_the_worker(payload: Any) -> None:
    """The worker is its grandparent: a supervisor stands in between."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
    time.sleep(60)
