"""`onthedot listen`: receive the HTTP calls of jobs and show each one with its lateness."""

import errno
import json
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from socket import AF_INET, AF_INET6
from typing import Any, Final

import click

from onthedot.api.times import parse_instant
from onthedot.cli.output import printable, short
from onthedot.core.clock import SystemClock, format_instant

FINE_MS: Final = 1_000
POOR_MS: Final = 10_000
MAX_BODY: Final = 2 * 2**20
"""Bytes. A job's payload has at most 1 MiB."""
QUIET_SECONDS: Final = 10.0
"""The server closes a connection that sends nothing for this long."""
_LOOK_SECONDS: Final = 0.5
_ANSWER: Final = b'{"received": true}\n'


@click.command()
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after N requests.  [default: at Ctrl-C]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each request.")
def listen(port: int, host: str, count: int | None, as_json: bool) -> None:
    """Receive the HTTP calls of jobs and show how late they are.

    It answers every request with 200. Lateness is the time from a run's fire time to the arrival of its request.

    \b
    Example, with the token that `onthedot serve` printed:
      onthedot listen
      curl "$ONTHEDOT_URL/v1/jobs" -H "Authorization: Bearer $ONTHEDOT_TOKEN" \\
        -d '{"callback_url": "http://127.0.0.1:8000/hello", "delay": 3, "payload": {"user": 42}}'
    """
    try:
        server = _Server(host, port, lambda why: click.secho(f"refused: {printable(why)}", err=True, dim=True))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise click.ClickException(f"port {port} is in use; choose another one with --port") from error
        raise click.ClickException(f"cannot listen on {host} port {port}: {error.strerror}") from error
    with server.serving(), suppress(KeyboardInterrupt):
        click.secho(f"Listening on {server.url}. Ctrl-C stops it.", err=True, dim=True)
        shown = 0
        while count is None or shown < count:
            arrival = server.next_arrival()
            click.echo(json.dumps(arrival) if as_json else as_text(arrival))
            shown += 1


Arrival = dict[str, Any]
"""A request as a JSON document."""


def arrival_of(at: int, method: str, path: str, headers: Message | Mapping[str, str], body: bytes) -> Arrival:
    """`at` is when the headers had arrived, in epoch milliseconds."""
    due_at = _instant(headers.get("X-Onthedot-Fire-Time"))
    return {
        "time": format_instant(at),
        "method": method,
        "path": path,
        "job_id": headers.get("X-Onthedot-Job"),
        "run_id": headers.get("X-Onthedot-Run"),
        "attempt": _number(headers.get("X-Onthedot-Attempt")),
        "fire_time": None if due_at is None else format_instant(due_at),
        "lateness_ms": None if due_at is None else at - due_at,
        "payload": _payload(body.decode("utf-8", "replace")),
    }


def _payload(text: str) -> Any:
    """Return the body as JSON, or as it is when it is not JSON. None when it is empty."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def as_text(arrival: Arrival) -> str:
    at, payload = datetime.fromisoformat(arrival["time"]).astimezone(), arrival["payload"]
    request = click.style(f"{arrival['method']} {short(printable(arrival['path']))}", bold=True)
    details = {
        "job": arrival["job_id"],
        "run": None if arrival["run_id"] == arrival["job_id"] else arrival["run_id"],
        "attempt": arrival["attempt"],
        "payload": payload if payload is None or isinstance(payload, str) else json.dumps(payload, ensure_ascii=False),
    }
    return "\n".join(
        [
            f"{at:%H:%M:%S}.{at.microsecond // 1000:03}  {request}  {_lateness(arrival['lateness_ms'])}",
            *(
                f"{click.style(f'{name:>12}', dim=True)}  {short(printable(str(value)))}"
                for name, value in details.items()
                if value is not None
            ),
        ]
    )


def _lateness(lateness: int | None) -> str:
    if lateness is None:
        return click.style("not from a job: it has no X-Onthedot-Fire-Time", fg="yellow")
    if lateness < 0:
        return click.style(f"{-lateness:,} ms early", fg="red")
    colour = "green" if lateness < FINE_MS else "yellow" if lateness < POOR_MS else "red"
    return click.style(f"{lateness:,} ms late", fg=colour)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, refused: Callable[[str], None]) -> None:
        """Bind the address. Raise OSError when that fails. `refused` gets a line for each request that is not HTTP."""
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.refused = refused
        self.arrivals: Queue[Arrival] = Queue()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # The base class would also look up this machine's name, which may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        host = str(self.server_address[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve in another thread for the time of a block, then close the address."""
        threading.Thread(target=self.serve_forever, args=(_LOOK_SECONDS / 10,), daemon=True).start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()

    def next_arrival(self) -> Arrival:
        """Wait for the next request, in short steps, so that Ctrl-C ends the wait on every platform."""
        while True:
            with suppress(Empty):
                return self.arrivals.get(timeout=_LOOK_SECONDS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: the client closed the connection or sent nothing for too long."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = QUIET_SECONDS

    def _receive(self) -> None:
        at = SystemClock().now()
        self.close_connection = True
        length = _number(self.headers.get("Content-Length", "0"))
        if length is None or "Transfer-Encoding" in self.headers:
            self.send_error(411)
            return
        if length > MAX_BODY:
            self.send_error(413)
            return
        body = self.rfile.read(length)
        self._answer()
        self.server.arrivals.put(arrival_of(at, self.command, self.path, self.headers, body))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _receive  # noqa: N815 - names of http.server

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(_ANSWER)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Write nothing: the command shows requests itself."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        self.server.refused(format % args)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _instant(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError:
        return None
