"""An app as users write them, with handlers that behave as badly as a test asks for."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from onthedot import NonRetryable, RetryAfter, job
from onthedot.jobs import Context


@job("echo")
def echo(payload: Any) -> Any:
    return payload


@job("context")
def context_of(_payload: Any, context: Context) -> Any:
    return [context.job_id, context.run_id, context.attempt, context.idempotency_key, context.fire_time.isoformat()]


@job("whole-context")
def whole_context(_payload: Any, context: Context) -> Any:
    return [context.started_at.isoformat(), context.deadline.isoformat(), context.lateness.total_seconds()]


@job("reports")
def reports(reports: list[list[Any]], context: Context) -> int:
    """Report all of these, then wait until the worker has the last one."""
    for fraction, text in reports:
        context.progress(fraction, text)
    link: Any = context.link
    while link._progress.unsent is not None:
        time.sleep(0.01)
    return len(reports)


@job("reports-until-cancelled")
def reports_until_cancelled(text: str, context: Context) -> None:
    context.progress(0.5, text)
    while not context.cancelled:
        time.sleep(0.01)


@job("reports-without-end")
def reports_without_end(number: int, context: Context) -> float:
    begun = time.monotonic()
    for one in range(number):
        context.progress(one / number, f"row {one}")
    return time.monotonic() - begun


@job("until-cancelled")
def until_cancelled(folder: str, context: Context) -> str:
    Path(folder, "a").write_text(f"{os.getpid()}\n")
    while not context.cancelled:
        time.sleep(0.01)
    return "cleaned up"


@job("garbage-as-progress")
def garbage_as_progress(_payload: Any, context: Context) -> str:
    """Make the worker receive reports that no handler can make."""
    link: Any = context.link
    for report in (None, [1], ["much", None], [0.5, 7], {"a": 1}):
        link._send({"progress": report})
    link._send({"progress": [0.25, "good"]})
    return "done"


@job("forks")
def forks(_payload: Any, context: Context) -> int:
    """Report from a process that the handler forks."""
    context.progress(0.5, "parent")
    child = os.fork()
    if not child:
        context.progress(0.9, "child")
        time.sleep(0.3)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@job("optional")
def with_an_option(payload: Any, repeat: int = 2) -> Any:
    return payload * repeat


@job("coroutine")
async def coroutine(payload: Any, context: Context) -> Any:
    await asyncio.sleep(0)
    return [payload, context.attempt]


@job("pid")
def pid(_payload: Any) -> int:
    return os.getpid()


@job("together")
def together(payload: dict[str, Any]) -> int:
    """Wait until the expected number of handlers run at the same time."""
    folder = Path(payload["folder"])
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < payload["expected"]:
        time.sleep(0.01)
    return os.getpid()


@job("print")
def loud(_payload: Any) -> str:
    print('{"ok": false}')  # noqa: T201
    sys.stdout.buffer.write(b"\xff\n")
    os.write(1, b"raw\n")
    return "said"


@job("raise")
def raising(payload: Any) -> NoReturn:
    raise {"KeyError": KeyError, "NonRetryable": NonRetryable, "SystemExit": SystemExit}[payload["kind"]](
        payload["text"]
    )


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError


@job("speechless")
def speechless(_payload: Any) -> NoReturn:
    raise Speechless


@job("later")
def later(payload: Any) -> NoReturn:
    raise RetryAfter(payload)


@job("no-json")
def no_json(payload: Any) -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return {"object": object(), "nan": float("nan"), "loop": loop, "set": {1}, "key": {(1, 2): 3}}[payload]


@job("long")
def long(payload: int) -> str:
    return '"' * payload


@job("die")
def die(payload: Any) -> None:
    match payload:
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)
        case "fork":
            # A process that lives longer than its parent, with all its open files.
            if os.fork():
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


@job("sleep")
def sleep(folder: str) -> None:
    """Write the ids of this process and of a child, and sleep."""
    Path(folder, "a").write_text(f"{os.getpid()}\n")
    child = subprocess.Popen(["sleep", "60"])
    Path(folder, "b").write_text(f"{child.pid}\n")
    time.sleep(60)


@job("stuck")
def stuck(folder: str) -> None:
    """Hold the interpreter's lock, so that no other thread of this process can run."""
    threading.Timer(0, time.sleep, [60]).start()
    Path(folder, "a").write_text(f"{os.getpid()}\n")
    ctypes.PyDLL(None).sleep(60)
