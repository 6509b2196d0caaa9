"""A disk that is full or fails: nothing acknowledged is lost, and the server goes on when there is space again."""

import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onthedot.core.clock import VirtualClock
from onthedot.core.errors import Unavailable
from onthedot.engines.sqlite.blobs import SqliteBlobs
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.group_commit import GroupCommit
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import a_run
from tests.durability.kills.listener import Listener
from tests.durability.kills.servers import Servers, servers
from tests.e2e.homes import until

MB = 1 << 20


def test_a_file_that_may_not_grow_keeps_all_that_was_stored(tmp_path: Path) -> None:
    """SQLite's own limit gives the same error as a full disk, and undoes the whole transaction."""
    clock = VirtualClock()
    with Database(tmp_path / "jobs.db") as database:
        store, blobs, writer = SqliteRunStore(database, clock), SqliteBlobs(database), GroupCommit(database)
        run = a_run(clock).build()
        assert writer.run(lambda: store.create(run)) is None
        (pages,) = database._connection.execute("PRAGMA page_count").fetchone()
        database._connection.execute(f"PRAGMA max_page_count = {pages + 5}")

        with pytest.raises(Unavailable, match="database or disk is full"):
            writer.run(lambda: blobs.put("large", bytes(MB)))
        assert store.get(run.run_id) == run
        assert blobs.get("large") is None

        database._connection.execute("PRAGMA max_page_count = 100000")
        writer.run(lambda: blobs.put("large", bytes(MB)))
        assert blobs.get("large") == bytes(MB)
        writer.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB, where the system lets us mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk; the test with a limit of the file's size runs everywhere")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.slow
def test_a_server_on_a_full_disk(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(3 * MB))
    live_through(small_disk, lambda _: None, lambda _: filler.unlink(), "database or disk is full")


@pytest.mark.slow
def test_a_server_whose_files_may_not_grow(tmp_path: Path) -> None:
    """A write beyond the limit fails with EFBIG, which SQLite reports as an I/O error."""

    def limit(size: int) -> Callable[[Servers], None]:
        def set_limit(server: Servers) -> None:
            assert server.pid is not None
            _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))

        return set_limit

    live_through(tmp_path, limit(MB), limit(resource.RLIM_INFINITY), "disk I/O error")


def live_through(folder: Path, fill: Callable[[Servers], None], free: Callable[[Servers], None], reason: str) -> None:
    """Fill the disk by jobs until one is refused, free it, and check that each accepted job is there and runs."""
    with Listener() as listener, servers(folder / "data") as server:
        server.start()
        server.wait_until_ready()
        fill(server)
        # This one is due while the disk is full.
        status, due = server.api.call("POST", "/v1/jobs", {"callback_url": f"{listener.url}/1", "delay": 3})
        assert status == 202
        accepted = fill_with_jobs(server)
        status, answer = server.api.call("POST", "/v1/jobs", a_large_job())
        assert (status, answer["error"]["code"]) == (503, "unavailable")
        assert reason in answer["error"]["message"]
        assert server.api.call("GET", f"/v1/jobs/{accepted[0]}")[0] == 200, "reads go on"

        free(server)

        until(lambda: server.api.call("POST", "/v1/jobs", a_large_job())[0] == 202)
        until(lambda: len(listener.calls[1]) == 1, 60)
        until(lambda: server.api.call("GET", f"/v1/jobs/{due['job_id']}")[1]["status"] == "SUCCEEDED")
        server.kill(signal.SIGKILL)
        server.start()
        server.wait_until_ready()
        found = {job_id: server.api.call("GET", f"/v1/jobs/{job_id}")[0] for job_id in accepted}
        assert set(found.values()) == {200}, "a job that was accepted is lost"
        assert len(listener.calls[1]) == 1


def a_large_job() -> dict[str, object]:
    return {"callback_url": "http://127.0.0.1:9/x", "delay": 3600, "payload": {"text": "x" * 200_000}}


def fill_with_jobs(server: Servers) -> list[str]:
    """Create jobs until one is refused. Return the ids of the accepted ones."""
    accepted: list[str] = []
    for _ in range(200):
        status, answer = server.api.call("POST", "/v1/jobs", a_large_job())
        if status != 202:
            assert status == 503, answer
            return accepted
        accepted.append(answer["job_id"])
    raise AssertionError("the disk is never full")
