"""Count the files of the package that one request, one tick, one attempt and one lease execute.

Each flow runs twice on SQLite in memory. The second time a profile function notes every Python function of the package
that is called, in all threads. Functions that Python generates (the methods of a dataclass) and imports do not count.

    python -m benchmarks.files_touched --list
"""

import argparse
import inspect
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import onthedot
from benchmarks.common import TENANT, console, finish, one_off, show
from benchmarks.flatness import DEPLOYMENT, SHARDS, Subject, sqlite_subjects
from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.choices import Priority
from onthedot.core.leases import StoreLeases
from onthedot.core.ports import Deadline, Tick
from onthedot.core.records import Definition
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import BUCKET_MS, DIRECT_MARGIN, bucket_of
from onthedot.core.start import Done
from onthedot.core.tick import dispatch_due
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.router import TargetRouter
from onthedot.targets.types import HttpTarget
from onthedot.worker.target_factories import TargetOptions, factories

PACKAGE: Final = Path(onthedot.__file__).parent
Functions = set[CodeType]
Act = Callable[[], object]


def functions_called(act: Act) -> Functions:
    """Return the functions of the package that the action calls, in this thread and in threads that it starts."""
    called: Functions = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        # Only functions have optimized locals: the bodies of modules and classes have none.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {code for code in tuple(called) if Path(code.co_filename).is_relative_to(PACKAGE)}


def files_of(functions: Functions) -> list[str]:
    """Return the files in which these functions are, relative to the package."""
    return sorted({str(Path(code.co_filename).relative_to(PACKAGE)) for code in functions})


def call_api(subject: Subject, path: str, body: dict[str, Any]) -> Any:
    """Send a POST to the API in this process, and return the body of its response."""
    caller = Principal(TENANT, "admin", "a benchmark")
    response = handle(subject.engine, Request("POST", path, body=json.dumps(body).encode(), principal=caller))
    if response.status >= 300:
        raise RuntimeError(f"{path} answered {response.status}: {response.text}")
    return response.body


# --- the flows -------------------------------------------------------------------------------------------------------


def post_a_job(subject: Subject) -> Act:
    """Return the submission of a one-off job that is due in an hour."""
    job = {"callback_url": "https://example.com/hook", "delay": 3600, "payload": {"order": 123}}
    return lambda: call_api(subject, "/v1/jobs", job)


def tick_with_one_run(subject: Subject) -> Act:
    """Return a tick that finds one due run."""
    start = (bucket_of(subject.clock.now()) + DEPLOYMENT.lookahead + DIRECT_MARGIN + 1) * BUCKET_MS
    submit_job(subject.engine, TENANT, one_off(start))
    subject.clock.advance((DIRECT_MARGIN + 1) * BUCKET_MS / 1000)
    tick = Tick(0, SHARDS, subject.clock.now(), "tick")

    def act() -> None:
        counts = dispatch_due(subject.engine, subject.progress, tick, Deadline(subject.clock.now() + 60_000))
        if (counts["claimed"], counts["sent"]) != (1, 1):
            raise RuntimeError(f"this tick did not claim and send one run: {counts}")

    return act


def attempt_over_http(subject: Subject, url: str) -> Act:
    """Return an attempt of a due run as a worker on Lambda makes it: start, an HTTP callback, finish."""
    engine = subject.engine
    request = JobRequest(Definition(HttpTarget(url)), "f" * 64, Priority.MEDIUM, DEFAULT_POOL)
    submit_job(engine, TENANT, request)
    [received] = engine.queues.receive(DEFAULT_POOL, Priority.MEDIUM, 1, visibility_ms=60_000)
    target = TargetRouter(factories(TargetOptions(allow_private=True), engine.clock))
    leases = StoreLeases(engine.store, engine.clock)
    worker = RunExecutor(engine, target, leases, "lambda-12345678", random.Random(1))  # noqa: S311 - jitter

    def act() -> None:
        if (verdict := execute_run(worker, received)) != Done("succeeded"):
            raise RuntimeError(f"the run did not succeed: {verdict}")
        engine.queues.delete(received)

    return act


def lease_over_rest(subject: Subject) -> Act:
    """Return the API's side of a pull worker's lease of one run."""
    offer = {"pool": "pull", "capabilities": ["shell"], "resources": {"concurrency": 1, "cpu": 1, "memory_mb": 512}}
    worker_id = call_api(subject, "/v1/workers/register", offer)["worker_id"]
    call_api(subject, "/v1/jobs", {"target": {"type": "shell", "argv": ["true"]}})

    def act() -> None:
        if len(call_api(subject, f"/v1/workers/{worker_id}/lease", {"max": 1})["runs"]) != 1:
            raise RuntimeError("no run was leased")

    return act


@contextmanager
def a_listener() -> Iterator[str]:
    """Answer every POST with an empty success, at the URL that this yields."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="also name the files")
    options = parser.parse_args()
    results: dict[str, list[str]] = {}
    rows: list[list[object]] = []
    with a_listener() as url, sqlite_subjects([10], folder=None) as [subject]:
        flows: dict[str, Callable[[Subject], Act]] = {
            "POST of a one-off job": post_a_job,
            "tick that claims and sends one run": tick_with_one_run,
            "attempt: start, HTTP callback, finish": lambda subject: attempt_over_http(subject, url),
            "lease of one run over REST": lease_over_rest,
        }
        for name, prepare in flows.items():
            prepare(subject)()  # imports its modules, which would count as calls otherwise
            called = functions_called(prepare(subject))
            results[name] = files_of(called)
            rows.append([name, str(len(results[name])), str(len(called))])
    show("Files and functions of the package that a flow calls", ["flow", "files", "functions"], rows)
    if options.list:
        for name, files in results.items():
            console.print(f"\n[bold]{name}[/]\n" + "\n".join(f"  {file}" for file in files))
    return finish("files_touched", {"files": results}, [])


if __name__ == "__main__":
    sys.exit(main())
