"""`make up`, `make down` and `make reset`: the stacks on an AWS that runs on this machine.

    python -m localstack.local up | down | reset [--json]

`up` and `down` are also Python functions. The end-to-end tests start their own stack with them.
"""

import argparse
import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import urllib3
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from localstack import cdk, ministack_process
from localstack.home import DEFAULT_PORT, Home, LocalStackError, home_from, shards_from
from localstack.stack import (
    LocalStack,
    describe,
    token_for,
    wait_until_api_answers,
    warm,
    write_description,
)
from onthedot.cli.output import steps

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
                f"job {job['job_id']} did not run within {PATIENCE_SECONDS} s of its fire time; "
                f"see {stack.api_url}/v1/jobs/{job['job_id']}/status"
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


console = Console()


def up(home: Path, port: int, shards: int, demo: bool, enforce_iam: bool = False) -> LocalStack:
    """Start the local stack of `home`, deploy the current sources, and return when its API answers.

    If it runs already, only changed stacks are deployed. If a step fails or is interrupted, a process that this call
    started is ended, and a process that ran before goes on. Raise LocalStackError with a message for the user.
    """
    at = Home(home.absolute(), port, enforce_iam)
    at.path.mkdir(parents=True, exist_ok=True)
    before = _running_here(at)
    with _stopped_on_failure(at, already_up=before is not None):
        if before is None:
            with _step("Started the local AWS"):
                before = ministack_process.start(at)
        _bring_up_to_date(at, shards)
        stack = describe(at, before.pid)
        with _step("The API answers"):
            wait_until_api_answers(stack)
            stack = replace(stack, token=token_for(at, stack))
            write_description(at, stack)
        with _step("The workers are warm"):
            warm(at)
        if demo:
            _demonstrate(stack)
    return stack


def down(home: Path) -> bool:
    """Stop the local stack of `home`, keep its data, and return whether it was running."""
    return ministack_process.stop(Home(home.absolute(), DEFAULT_PORT))


def reset(home: Path) -> None:
    """Stop the local stack of `home` and delete its data."""
    at = Home(home.absolute(), DEFAULT_PORT)
    ministack_process.stop(at)
    shutil.rmtree(at.data, ignore_errors=True)
    for path in (at.description, *at.path.glob("*.log")):
        path.unlink(missing_ok=True)


def _running_here(at: Home) -> ministack_process.Running | None:
    running = ministack_process.find(at)
    if running and running.port != at.port:
        raise LocalStackError(
            f"the stack of {at.path} runs on port {running.port}; stop it first (make down), "
            f"or start a second one with another ONTHEDOT_HOME"
        )
    return running


def _bring_up_to_date(at: Home, shards: int) -> None:
    digest = cdk.inputs_digest(shards)
    if cdk.is_deployed(at, digest):
        console.print("[green]✓[/] The stacks are up to date")
        return
    with _step("Synthesized the stacks"):
        cdk.prepare(at, shards, digest)
    with _step("Deployed the stacks"):
        cdk.deploy(at)
        cdk.note_deployed(at, digest)


@contextmanager
def _stopped_on_failure(at: Home, *, already_up: bool) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if not already_up:
            ministack_process.stop(at, grace_seconds=5)
        raise


@contextmanager
def _step(done: str) -> Iterator[None]:
    """Show a spinner during the step, and a line with its duration afterwards."""
    began = time.monotonic()
    with console.status(f"{done} …"):
        yield
    console.print(f"[green]✓[/] {done} [dim]({time.monotonic() - began:.1f} s)[/]")


def _demonstrate(stack: LocalStack) -> None:
    _show(stack)
    with console.status(f"A job that is due in {DELAY_SECONDS} s …"):
        fired = fire_one(stack)
    _show_demonstration(fired)


def _show(stack: LocalStack) -> None:
    lines = Text("\n").join(
        Text.assemble((f"{name:<9}", "bold"), (value, "cyan"))
        for name, value in (("API", stack.api_url), ("Console", stack.console_url), ("Token", stack.token))
    )
    # A frame if the lines fit into it. A value that a frame breaks into two lines cannot be copied.
    panel = Panel(lines, title="onthedot is up", border_style="green", expand=False)
    fits = console.measure(lines).maximum + 4 <= console.width
    console.print(panel if fits else lines, soft_wrap=not fits)


def _show_demonstration(fired: Fired) -> None:
    due, arrived = (_clock(t) for t in (fired.due, fired.arrived))
    console.print(
        f"[green]✓[/] A job was due at [bold]{due}[/] and reached its callback at [bold]{arrived}[/]: "
        f"[bold green]{fired.late:.0f} ms[/] late",
        soft_wrap=True,
    )


def _clock(milliseconds: float) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().strftime("%H:%M:%S.%f")[:-3]


def run(command: str) -> dict[str, Any]:
    """Execute one of the three commands on the stack that the environment names. Return what it did."""
    home = home_from(os.environ)
    done = {"action": command, "home": str(home.path)}
    if command == "up":
        stack = up(home.path, home.port, shards_from(os.environ), demo=True)
        return {**done, "file": str(home.description), **asdict(stack)}
    if command == "down":
        was_running = down(home.path)
        console.print("Stopped." if was_running else "It was not running.")
        return {**done, "was_running": was_running}
    reset(home.path)
    console.print("Deleted the local stack and its data.")
    return done


def _point_at_log() -> None:
    with suppress(LocalStackError):
        console.print(Text(f"The log of the local AWS: {home_from(os.environ).log}", style="dim"), soft_wrap=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="local", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "reset"])
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    arguments = parser.parse_args()
    command = arguments.command
    # A signal other than Ctrl-C cleans up in the same way.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    with steps(as_json=arguments.json):
        done = _run_or_exit(command)
    if arguments.json:
        print(json.dumps(done))


def _run_or_exit(command: str) -> dict[str, Any]:
    try:
        return run(command)
    except LocalStackError as error:
        console.print(Text(f"✗ {command} failed: {error}", style="red"), soft_wrap=True)
        _point_at_log()
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("\nInterrupted; nothing that this command started is left running.")
        sys.exit(130)


if __name__ == "__main__":
    main()
