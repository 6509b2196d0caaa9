"""What commands send, print and end with, in a pipe: the lines of `commands.txt`, on a server of a world."""

import json
import os
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import click
from click.testing import CliRunner

from tests.golden.compare import Mask
from tests.golden.rest import BODIES, shortened, with_ids
from tests.golden.world import World, cli

MOST_LINES = 25
LINES = Path(__file__).with_name("commands.txt").read_text().splitlines()
WORKER = {"capabilities": ["shell"], "host": "h1", "resources": {"concurrency": 2, "storage_mb": 100}}
TOKEN = "otd_00000000"


@contextmanager
def serving(world: World, calls: list[Any]) -> Iterator[str]:
    """The API of a world at a URL. Calls that change something are noted."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            role = "admin" if self.headers.get("Authorization") == f"Bearer {TOKEN}" else None
            headers = {"If-Match": self.headers["If-Match"]} if "If-Match" in self.headers else {}
            response = world.answer(self.command, self.path, body, headers, role=role)
            calls.append([f"{self.command} {self.path}", *([json.loads(body)] if body else []), *headers.values()])
            content = response.text.encode()
            self.send_response(response.status)
            for name, value in {**response.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as the base class calls them

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def commands_recording(world: World) -> Any:
    calls: list[Any] = []
    steps: list[Any] = []
    runner = CliRunner()
    with serving(world, calls) as url, TemporaryDirectory() as folder, chdir(folder), in_virtual_time(world):
        Path("payload.json").write_text('{"from": "file"}')
        Path("workflow.json").write_text(json.dumps({**BODIES["workflows"][0], "idempotency_key": "nightly"}))
        environment = {"ONTHEDOT_URL": url, "ONTHEDOT_TOKEN": TOKEN, "COLUMNS": "120", "NO_COLOR": "1"}
        for line in LINES:
            if line.startswith("#"):
                continue
            if line.startswith("tick"):
                world.tick(int(line.split()[1]))
                continue
            if line == "worker":
                worker = world.call("POST", "/v1/workers/register", WORKER)
                world.call("POST", f"/v1/workers/{worker['worker_id']}/lease", {})
                continue
            calls.clear()
            arguments = shlex.split(with_ids(world, line))
            done = runner.invoke(cli, arguments, input='{"from": "stdin"}', env=environment)
            assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
            remember(world, calls)
            step = {
                "do": line,
                "exit": done.exit_code,
                "calls": list(calls),
                "out": printed(done.stdout.replace(url, "<url>")),
            }
            steps.append({**step, "says": bool(done.stderr)})
            world.clock.advance(1)
    return Mask(world.names).value(steps)


def remember(world: World, calls: list[Any]) -> None:
    """Give the jobs that a command made the names that are their idempotency keys."""
    for call, *bodies in calls:
        if bodies and call in ("POST /v1/jobs", "POST /v1/workflows"):
            key = bodies[0]["idempotency_key"]
            for job in world.call("GET", "/v1/jobs?limit=50")["jobs"]:
                world.names.setdefault(job["job_id"], key)


@contextmanager
def in_virtual_time(world: World) -> Iterator[None]:
    """Let commands, which run in this process, read the time of the world, in UTC."""
    with (
        patch.dict(os.environ, {"TZ": "UTC"}),
        patch.object(time, "time_ns", lambda: world.clock.now() * 1_000_000),
        patch.object(time, "time", lambda: world.clock.now() / 1_000),
        patch.object(time, "monotonic", lambda: world.clock.now() / 1_000),
        patch.object(time, "sleep", world.clock.advance),
    ):
        time.tzset()
        yield
    time.tzset()


def printed(text: str) -> Any:
    """What was printed: a JSON document, JSON lines, or the cells of each line. Help is no contract."""
    try:
        return {"json": shortened(json.loads(text))}
    except ValueError:
        lines = text.splitlines()
    if lines and all(line.startswith("{") for line in lines):
        return {f"{len(lines)} JSON lines": [json.loads(line) for line in lines[:2]]}
    if len(lines) > MOST_LINES:
        return f"{text[:30]!r}…"
    return [line.split("\t") for line in lines]


def surface_recording() -> Any:
    """Every command with its arguments and options, without help texts."""
    return dict(sorted(surface(cli, "onthedot")))


def surface(command: click.Command, path: str) -> Iterator[tuple[str, Any]]:
    yield path + " (hidden)" * command.hidden, dict(shown(one) for one in command.params)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from surface(found, f"{path} {name}")


def shown(param: click.Parameter) -> Any:
    """The facts of an argument or an option that are not the usual ones."""
    about = param.to_info_dict()
    names = ("required", "multiple", "is_flag", "count", "hidden", "envvar")
    default = param.default if isinstance(param.default, str | int | float | bool | list | tuple) else None
    facts = {name: about.get(name) for name in names} | {
        "nargs": param.nargs if param.nargs != 1 else None,
        "default": default,
        "metavar": param.metavar,
        **{name: value for name, value in about["type"].items() if name not in ("func", "param_type")},
    }
    kept = {name: value for name, value in facts.items() if value not in (None, False, (), "text", "boolean")}
    return [" ".join([*param.opts, *param.secondary_opts]), kept]
