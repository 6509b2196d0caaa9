"""Commands on a real `onthedot serve` process, found by its `local.json`."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 20.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a server runs."""
    folder = tmp_path_factory.mktemp("serve")
    command = [sys.executable, "-m", "onthedot.cli.main", "serve", "--port", "0", "--json", "--grace", "1"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert server.stdout is not None
        try:
            assert json.loads(server.stdout.readline())["action"] == "ready", (folder / "log").read_text()
            yield folder
        finally:
            server.terminate()
            server.wait(PATIENCE)
            server.stdout.close()


def environment(folder: Path) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("ONTHEDOT_")}
    return {**bare, "ONTHEDOT_HOME": str(folder / ".onthedot")}


def onthedot(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onthedot.cli.main", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.fixture
def receiver() -> Iterator[tuple[str, "list[Any]", threading.Event]]:
    """A URL, the bodies that it received, and an event that is set by the first."""
    bodies: list[Any] = []
    called = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            called.set()

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", bodies, called
        server.shutdown()
        thread.join(PATIENCE)


def test_a_job_is_scheduled_called_and_listed(home: Path, receiver: tuple[str, list[Any], threading.Event]) -> None:
    url, bodies, called = receiver
    done = onthedot(home, "schedule", "--in", "0.1s", "--http", url, "--name", "n", "--payload", '{"a": 1}', "--json")
    assert done.returncode == 0, done.stderr
    assert called.wait(PATIENCE)
    assert bodies == [{"a": 1}]
    listed = onthedot(home, "executions", json.loads(done.stdout)["job_id"], "--json")
    assert json.loads(listed.stdout)["attempts"][0]["worker"]


def test_the_doctor_finds_nothing_wrong(home: Path) -> None:
    done = onthedot(home, "doctor")
    assert done.returncode == 0, done.stdout
    assert "API answers" in done.stdout
    assert "✓ last tick" in done.stdout or "✓ the scheduler is starting" in done.stdout


def test_a_missing_job_has_its_exit_code(home: Path) -> None:
    done = onthedot(home, "cancel", "job_none")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("Error: there is no job job_none")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["list", "list --json", "preview '0 9 * * *'", "completion bash"])
def test_a_full_disk_is_one_line(home: Path, arguments: str) -> None:
    onthedot(home, "schedule", "--in", "1h", "--http", "https://a.test/", "--name", "later")
    done = shell(home, f"{arguments} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "Error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", ["list --json", "doctor", "cancel later"])
def test_a_closed_stdout_is_refused(home: Path, arguments: str) -> None:
    done = shell(home, f"{arguments} >&-")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: stdout is closed")


def test_a_server_needs_no_stdout(home: Path) -> None:
    assert "--token needs at least 16 characters" in shell(home, "serve --token short >&-").stderr


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell runs it, with redirections."""
    command = f"exec {sys.executable} -m onthedot.cli.main {line}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
