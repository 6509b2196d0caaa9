"""The local stack's housekeeping: homes, ports, processes, what needs a deployment, and the pinned packages."""

import json
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from localstack import cdk, local, ministack_process
from localstack.home import ROOT, Home, LocalStackError, clean_environment, home_from
from localstack.stack import LocalStack, read_description, write_description
from onthedot.cli import stacks as clone
from onthedot.cli.main import main

Capture = pytest.CaptureFixture[str]
HOLDER = """
import signal, sys
from pathlib import Path
from localstack.launcher import hold_lock
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
hold_lock(Path(sys.argv[1]), 4999)
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, 4999)


def a_local_aws(home: Home, temper: str) -> subprocess.Popen[bytes]:
    """A process that stands in for the local AWS: it holds the lock until it is told to end, or longer."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.lock), temper],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    return process


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        yield somebody.getsockname()[1]


@pytest.mark.parametrize("port", ["0", "65536", "http", "٤٥"])
def test_a_port_that_is_none_is_refused_by_name(port: str) -> None:
    with pytest.raises(LocalStackError, match="ONTHEDOT_PORT"):
        home_from({"ONTHEDOT_PORT": port})


def test_nothing_of_the_host_leaks_into_the_local_aws(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SECRET_ACCESS_KEY", "ONTHEDOT_TABLE", "PYTHONPATH", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "of the host")
    assert "of the host" not in clean_environment(home).values()
    environment = ministack_process.ministack_environment(home)
    assert "of the host" not in environment.values()
    assert environment["BIND_HOST"] == "127.0.0.1"
    for name in ("HOME", "TMPDIR", "STATE_DIR", "S3_DATA_DIR"):
        assert Path(environment[name]).is_relative_to(home.path)


def test_a_local_aws_is_found_as_long_as_it_lives(home: Home) -> None:
    assert ministack_process.find(home) is None
    process = a_local_aws(home, "willing")
    assert ministack_process.find(home) == ministack_process.Running(process.pid, 4999)
    process.kill()
    process.wait()
    assert ministack_process.find(home) is None


@pytest.mark.parametrize(("temper", "ended_by"), [("willing", signal.SIGTERM), ("stubborn", signal.SIGKILL)])
def test_a_local_aws_is_asked_to_end_and_killed_if_it_does_not(
    home: Home, temper: str, ended_by: signal.Signals
) -> None:
    process = a_local_aws(home, temper)
    assert (ministack_process.stop(home, 0.2) if temper == "stubborn" else local.down(home.path)) is True
    assert process.wait(timeout=30) == -ended_by
    assert local.down(home.path) is False


def test_reset_forgets_the_data_and_keeps_the_cache(home: Home) -> None:
    for directory in (home.data / "state", home.assembly):
        directory.mkdir(parents=True)
    home.description.write_text("{}")
    process = a_local_aws(home, "willing")
    local.reset(home.path)
    process.wait(timeout=30)
    assert not home.data.exists()
    assert not home.description.exists()
    assert home.assembly.exists()


def test_up_refuses_a_port_of_somebody_else_and_says_what_to_do(tmp_path: Path, busy_port: int) -> None:
    with pytest.raises(LocalStackError, match=rf"port {busy_port} is in use.*ONTHEDOT_PORT="):
        local.up(tmp_path, busy_port, 4, demo=False)


@pytest.mark.parametrize("port", [4998, 4999], ids=["another port", "a step that fails"])
def test_a_failed_up_leaves_a_stack_that_ran_before(home: Home, monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    def fail(*_: object) -> None:
        raise LocalStackError("a step")

    process = a_local_aws(home, "willing")
    monkeypatch.setattr(local, "_bring_up_to_date", fail)
    with pytest.raises(LocalStackError, match="a step" if port == 4999 else "4999"):
        local.up(home.path, port, 4, demo=False)
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.mark.parametrize("failure", [LocalStackError("no"), KeyboardInterrupt()])
def test_a_failed_up_ends_what_it_started(home: Home, monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    processes = []

    def start(at: Home) -> ministack_process.Running:
        processes.append(a_local_aws(at, "willing"))
        return ministack_process.Running(processes[0].pid, at.port)

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(ministack_process, "start", start)
    monkeypatch.setattr(local, "_bring_up_to_date", fail)
    with pytest.raises(type(failure)):
        local.up(home.path, home.port, 4, demo=False)
    assert processes[0].wait(timeout=30) == -signal.SIGTERM


def test_the_description_is_whole_and_for_its_owner_only(home: Home) -> None:
    queues = {"tick": "http://q"}
    stack = LocalStack("http://api", "secret", "http://aws", "table", queues, "bus", "http://api/console", 1)
    write_description(home, stack)
    write_description(home, stack)
    assert stat.S_IMODE(home.description.stat().st_mode) == 0o600
    assert LocalStack(**read_description(home)) == stack
    names = {"api_url", "token", "endpoint_url", "table", "queues", "bus", "console_url", "pid"}
    assert set(json.loads(home.description.read_text())) == names


@pytest.mark.parametrize(("command", "more"), [("down", {"was_running": False}), ("reset", {})])
def test_json_says_what_was_done_and_the_steps_go_to_stderr(
    command: str, more: dict[str, object], home: Home, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("ONTHEDOT_HOME", str(home.path))
    monkeypatch.setattr(sys, "argv", ["local", command, "--json"])
    local.main()
    out, err = capsys.readouterr()
    assert json.loads(out) == {"action": command, "home": str(home.path), **more}
    assert len(err.splitlines()) == 1


def test_a_deployment_is_needed_when_a_source_or_the_shards_change_and_only_then(tmp_path: Path) -> None:
    (tmp_path / "infra").mkdir()
    source = tmp_path / "infra" / "app.py"
    source.write_text("1")
    first = cdk.inputs_digest(4, tmp_path)
    (tmp_path / "infra" / "__pycache__").mkdir()
    (tmp_path / "infra" / "__pycache__" / "app.pyc").write_text("compiled")
    (tmp_path / "README.md").write_text("not deployed")
    assert cdk.inputs_digest(4, tmp_path) == first
    assert cdk.inputs_digest(8, tmp_path) != first
    source.write_text("2")
    assert cdk.inputs_digest(4, tmp_path) != first


def pinned(path: Path) -> dict[str, list[str]]:
    """Each entry of a lock file with its hashes."""
    entries: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=\S)", path.read_text().strip()):
        entry, *hashes = re.split(r"\s*\\?\n\s*", block)
        entries[entry.rstrip(" \\")] = [line.rstrip(" \\") for line in hashes]
    return entries


LOCKS = [
    ROOT / "requirements.lock",
    ROOT / "layers" / "dependencies" / "requirements.txt",
    ROOT / "worker.lock",
]


def test_every_package_is_pinned_by_version_and_hash_and_everywhere_the_same() -> None:
    everything = pinned(LOCKS[0])
    for lock in LOCKS:
        assert "//" not in lock.read_text(), f"{lock} names a place"
        for entry, hashes in pinned(lock).items():
            assert re.fullmatch(r"[a-z0-9-]+==[^ ]+( ; .+)?", entry), entry
            assert hashes, entry
            assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), entry
            assert everything.get(entry) == hashes, f"{entry} of {lock} is not what everything else is tested with"


def test_the_lock_of_npm_names_no_place() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages["node_modules/aws-cdk"]["version"] == "2.1147.0"
    assert all("resolved" not in package and "integrity" in package for package in packages.values())


def test_a_command_finds_its_clone_or_says_that_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clone.find_root(ROOT / "layers" / "core") == ROOT
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.ClickException):
        clone.find_root(tmp_path)
    result = CliRunner().invoke(main, ["up"])
    assert result.exit_code == 1
    assert "not inside a clone" in result.output
