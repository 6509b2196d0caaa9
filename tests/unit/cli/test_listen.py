"""`onthedot listen` answers real requests, shows them with their lateness, and survives bad ones."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
from click.testing import CliRunner

from onthedot.cli.jobs.listen import MAX_BODY, Arrival, arrival_of, as_text
from onthedot.cli.main import main
from onthedot.cli.output import printable
from onthedot.core.clock import SystemClock, format_instant
from tests.builders import NOON

SECONDS = 30
JOB = {"X-Onthedot-Job": "job_a", "X-Onthedot-Run": "job_a", "X-Onthedot-Attempt": "2"}


class Listener:
    """A process of the command, and the port that it listens on."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            return connection.getresponse().status
        finally:
            connection.close()

    def end(self) -> tuple[int, str, str]:
        """Wait for the end of the process. Return its exit code and its output."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


@contextmanager
def listening(*options: str) -> Iterator[Listener]:
    process = subprocess.Popen(
        [sys.executable, "-m", "onthedot.cli.main", "listen", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TZ": "UTC"},
        # A shell that starts the tests in the background lets them ignore Ctrl-C, and the process would inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        assert process.stderr is not None
        found = re.search(r"Listening on http://127\.0\.0\.1:(\d+)\.", process.stderr.readline())
        assert found
        yield Listener(process, int(found[1]))
    finally:
        process.kill()
        process.communicate()


def test_a_call_is_shown_with_its_job_attempt_payload_and_lateness() -> None:
    with listening("--count", "1") as listener:
        due = format_instant(SystemClock().now() - 5_000)
        assert listener.send("POST", "/hello?a=1", b'{"user": 42}', **JOB, X_Onthedot_Fire_Time=due) == 200
        code, out, err = listener.end()
    first, *details = out.splitlines()
    assert (code, err) == (0, "")
    late = re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}  POST /hello\?a=1  ([\d,]+) ms late", first)
    assert late
    assert int(late[1].replace(",", "")) >= 5_000
    assert [line.split(None, 1) for line in details] == [
        ["job", "job_a"],
        ["attempt", "2"],
        ["payload", '{"user": 42}'],
    ]
    assert "\x1b" not in out, "colours are for terminals"


def test_json_lines_are_for_programs() -> None:
    with listening("--json", "--count", "2") as listener:
        due = SystemClock().now()
        listener.send("PUT", "/a", b"plain text", **JOB, X_Onthedot_Fire_Time=format_instant(due))
        listener.send("GET", "/b")
        code, out, _ = listener.end()
    # Each request is answered before its line is queued, so two quick ones may change places.
    call, other = sorted((json.loads(line) for line in out.splitlines()), key=lambda one: one["path"])
    assert code == 0
    assert (call["method"], call["path"], call["payload"]) == ("PUT", "/a", "plain text")
    assert (call["job_id"], call["run_id"], call["attempt"]) == ("job_a", "job_a", 2)
    assert call["fire_time"] == format_instant(due)
    assert 0 <= call["lateness_ms"] < SECONDS * 1000
    assert (other["path"], other["job_id"], other["lateness_ms"], other["payload"]) == ("/b", None, None, None)


BAD_REQUESTS = (
    b"\x00\xff garbage\r\n\r\n",
    b"GET / HTTP/1.1\r\nContent-Length: none\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1),
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"",
)


def test_bad_requests_are_refused_and_the_next_one_is_served() -> None:
    with listening("--count", "1") as listener:
        for sent in BAD_REQUESTS:
            with socket.create_connection(("127.0.0.1", listener.port), timeout=SECONDS) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                assert b" 200 " not in connection.recv(1_000)
        assert listener.send("POST", "/next") == 200
        code, out, err = listener.end()
    assert code == 0
    assert "POST /next" in out
    assert "Traceback" not in err
    assert err.count("refused") == len(BAD_REQUESTS) - 1, "an empty one is none"


def test_control_c_ends_it_with_zero() -> None:
    with listening() as listener:
        listener.send("GET", "/")
        assert listener.process.stdout is not None
        assert "GET /" in listener.process.stdout.readline()
        listener.process.send_signal(signal.SIGINT)
        code, _, err = listener.end()
    assert code == 0
    assert "Traceback" not in err
    assert "Aborted" not in err


def test_a_port_that_is_taken_is_an_error_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["listen", "--port", str(port)])
    assert result.exit_code == 1
    assert result.output == f"Error: port {port} is in use; choose another one with --port\n"
    result = CliRunner().invoke(main, ["listen", "--port", "0", "--host", "192.0.2.1"])
    assert (result.exit_code, "cannot listen on 192.0.2.1" in result.output) == (1, True)


def arrival(body: bytes = b"", path: str = "/", run_id: str = "job_a", late: int | None = 12) -> Arrival:
    due = {} if late is None else {"X-Onthedot-Fire-Time": format_instant(NOON - late)}
    return arrival_of(NOON, "POST", path, {**JOB, "X-Onthedot-Run": run_id, **due}, body)


@pytest.mark.parametrize(
    ("late", "words"), [(12, "12 ms late"), (1_200, "1,200 ms late"), (-3, "3 ms early"), (None, "not from a job")]
)
def test_lateness_is_in_words(late: int | None, words: str) -> None:
    assert words in as_text(arrival(late=late))


def test_the_run_is_shown_when_it_is_not_the_job_itself() -> None:
    assert "job_a.000123" in as_text(arrival(run_id="job_a.000123"))


def test_long_payloads_are_cut_and_control_characters_are_escaped() -> None:
    shown = as_text(arrival(body=b'"' + b"x" * 5_000 + b'"', path="/\x1b[31m"))
    assert len(shown) < 500
    assert "(5,000 characters)" in shown
    assert r"/\x1b[31m" in shown
    assert printable("\x9b2J é 漢") == r"\x9b2J é 漢"
