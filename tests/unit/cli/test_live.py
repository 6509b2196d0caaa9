"""`onthedot top` on a real terminal: a pseudo terminal of 80 columns and 24 lines."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.unit.cli.overview_document import an_overview

PATIENCE = 20.0
PROGRAM = """
import signal
from onthedot.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""The command line. Shells let programs in the background ignore interrupts, and the tests may be one of them."""
EXPLAINED = {"job_id": "job_bad", "status": "FAILED", "reasons": [{"code": "failed", "message": "It failed for good."}]}


@contextmanager
def answering() -> Iterator[str]:
    """Answer the calls of the screen, and give the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(EXPLAINED if self.path.endswith("/explain") else an_overview()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(PATIENCE)


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, *command: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self._theirs = theirs
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env={**environment, "TERM": "xterm-256color"}
        )

    def read_until(self, text: str) -> str:
        shown, deadline = "", time.monotonic() + PATIENCE
        while text not in shown:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} is not in {shown[-2000:]!r}"
            shown += os.read(self._ours, 65536).decode(errors="replace")
        return shown

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        os.close(self._ours)
        os.close(self._theirs)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with answering() as url:
        opened = Terminal(sys.executable, "-c", PROGRAM, "top", "--url", url, "--token", "t")
        yield opened
        opened.close()


def test_the_screen_filters_explains_and_ends(terminal: Terminal) -> None:
    terminal.read_until("remind-17")
    terminal.type("/remind\r")
    terminal.read_until("filter: remind")
    terminal.type("\r")
    terminal.read_until("It failed for good.")
    terminal.type(" ")
    terminal.read_until("esc clears")
    terminal.type("q")
    terminal.read_until("\x1b[?1049l")
    assert terminal.process.wait(PATIENCE) == 0
    assert terminal.settings() == terminal.before


def test_an_interrupt_ends_it_and_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.read_until("remind-17")
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("\x1b[?1049l")
    assert terminal.process.wait(PATIENCE) == 0
    assert terminal.settings() == terminal.before
