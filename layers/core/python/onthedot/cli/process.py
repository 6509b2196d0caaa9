"""What `onthedot worker` and `serve` share as processes: the log, the handlers of the app, and the end by signals."""

import json
import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from onthedot.cli.options import options
from onthedot.cli.output import printable
from onthedot.core.clock import format_instant
from onthedot.observability import METRICS_LOG
from onthedot.targets.processes.python_runner import AppBroken, handlers_of

if TYPE_CHECKING:
    from onthedot.worker.runtime import Runtime

app_options: Final = options(
    click.option("--app", metavar="MODULE", help="Run the @job handlers of this module, imported from this directory."),
    click.option("--shell", is_flag=True, help="Run the programs that jobs name, as this user."),
)
grace_option: Final = click.option(
    "--grace",
    default=25.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds that running jobs get to finish after a stop signal.",
)
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
HURRY_SECONDS: Final = 1.0
"""How long a worker that ends at once waits for the programs that it kills."""
LOOK_SECONDS: Final = 0.5
_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

log = logging.getLogger(__name__)


def app_handlers(app: str | None) -> list[str]:
    """Return the names of the app's handlers. Raise click.ClickException when it cannot be used."""
    if app is None:
        return []
    try:
        found = handlers_of(app)
    except AppBroken as error:
        raise click.ClickException(str(error)) from error
    if not found:
        raise click.ClickException(f'{app} marks no handler; mark one with @job("name")')
    return found


class JsonLines(logging.Formatter):
    """One JSON object a line, with the extra fields of the log record."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": format_instant(int(record.created * 1000)),
            "level": record.levelname,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PlainLines(logging.Formatter):
    """Lines for people: time, level, action word, then the extra fields with a value."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        extra = (f" {name}={value}" for name, value in _extra(record).items() if value is not None)
        return super().formatMessage(record) + printable("".join(extra))


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def set_up_logging(*, as_json: bool) -> None:
    """Log to stderr: onthedot's records from INFO on, and those of other packages from WARNING on."""
    # Looking up the caller, the thread and the task of each record takes as long as writing it, and no line has them.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else PlainLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("onthedot").setLevel(logging.INFO)
    # Lines of metrics are for CloudWatch, which reads JSON.
    logging.getLogger(METRICS_LOG).setLevel(logging.INFO if as_json else logging.WARNING)


def run_until_stopped(runtime: "Runtime") -> None:
    """Run the worker in a thread of its own while the main thread waits for signals. Raise the errors of `run`.

    SIGTERM or SIGINT once ends the worker in order, twice ends it at once.
    """
    events: SimpleQueue[int | None] = SimpleQueue()  # a signal handler may call `put`, but must not acquire a lock
    before = {number: signal.signal(number, lambda got, _: events.put(got)) for number in SIGNALS}
    pool = ThreadPoolExecutor(1, "worker")
    try:
        running = pool.submit(runtime.run)
        running.add_done_callback(lambda _: events.put(None))
        stopping = False
        while (got := _next(events)) is not None:
            name = signal.Signals(got).name
            if stopping:
                log.warning("%s again: ending at once", name)
                runtime.stop_now()
                wait([running], HURRY_SECONDS)
                _exit(128 + got)
            log.info("%s: taking no more runs, finishing the current ones", name)
            stopping = True
            runtime.stop()
        running.result()
        if any(thread.name.startswith("run-") for thread in threading.enumerate()):
            # A target never ended. Its run was reported, and another worker may already have it.
            _exit(0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pool.shutdown(wait=False)


def wait_or_stop(seconds: float) -> None:
    """Wait, or raise SystemExit at the first signal. The first process of a container needs a handler to be ended."""

    def leave(*_: object) -> NoReturn:
        raise SystemExit(1)

    for number in SIGNALS:
        signal.signal(number, leave)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))


def _next(events: "SimpleQueue[int | None]") -> int | None:
    """Return the next event.

    Wait in short steps: a signal that another thread received, or that arrived just before a wait, does not end the
    wait.
    """
    while True:
        with suppress(Empty):
            return events.get(timeout=LOOK_SECONDS)


def _exit(code: int) -> None:
    logging.shutdown()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)
