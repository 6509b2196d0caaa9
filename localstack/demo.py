"""The demonstration at the end of `up`: one job that is due in a few seconds, and the lateness of its callback."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import urllib3

from localstack.home import LocalStackError
from localstack.stack import LocalStack

DELAY_SECONDS = 3
PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Fired:
    """A job of the demonstration, with the instants of its fire time and its callback in epoch milliseconds."""

    job_id: str
    due: float
    arrived: float

    @property
    def late(self) -> float:
        return self.arrived - self.due


def fire_one(stack: LocalStack) -> Fired:
    """Schedule one job on the stack and wait for its callback.

    Raise LocalStackError when the API refuses the job, or when the callback does not come.
    """
    with _listener() as (url, arrivals):
        job = _schedule(stack, url)
        due = datetime.fromisoformat(job["next_fire_time"]).timestamp() * 1000
        try:
            arrived = arrivals.get(timeout=DELAY_SECONDS + PATIENCE_SECONDS)
        except queue.Empty:
            raise LocalStackError(
                f"job {job['job_id']} did not fire within {PATIENCE_SECONDS} s of its time; "
                f"ask {stack.api_url}/v1/jobs/{job['job_id']}/status"
            ) from None
    return Fired(job_id=job["job_id"], due=due, arrived=arrived)


def _schedule(stack: LocalStack, callback_url: str) -> dict[str, Any]:
    response = urllib3.request(
        "POST",
        f"{stack.api_url}/v1/jobs",
        headers={"Authorization": f"Bearer {stack.token}"},
        json={"name": "make up", "delay": DELAY_SECONDS, "callback_url": callback_url},
        retries=False,
        timeout=30,
    )
    if response.status != 202:
        said = response.data[:500].decode(errors="replace")
        raise LocalStackError(f"the API answered {response.status} to the demonstration job: {said}")
    return dict(json.loads(response.data))


@contextmanager
def _listener() -> Iterator[tuple[str, "queue.Queue[float]"]]:
    arrivals: queue.Queue[float] = queue.Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrivals.put(time.time() * 1000)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing, because `up` prints the result."""

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/demo", arrivals
    finally:
        server.shutdown()
        server.server_close()
