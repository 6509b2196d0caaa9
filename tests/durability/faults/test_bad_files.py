"""Files that cannot be served: the reason is told, and the file stays as it is."""

import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import urllib3

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.engines.sqlite.database import FORMAT, Database
from onthedot.engines.sqlite.store import SqliteRunStore
from onthedot.wiring.embedded import BadFile, owned_database
from tests.durability.kills.far_jobs import accept_far_jobs
from tests.durability.kills.servers import Servers, servers
from tests.e2e.homes import until

PAGE = 4096
NOBODY = 65534


@contextmanager
def without_rights() -> Iterator[None]:
    """Give up the rights of root for a moment: root may write to a read-only file."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if before == 0:
            os.seteuid(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "onthedot.db"


def fill(path: Path, jobs: int = 300) -> list[str]:
    """Store jobs, and move all of them from the log into the file."""
    return [job.job_id for job in accept_far_jobs(path, "http://127.0.0.1:9", range(jobs), 3600)]


def damage(path: Path, *pages: int) -> None:
    content = bytearray(path.read_bytes())
    for page in pages:
        content[(page - 1) * PAGE : page * PAGE] = random.Random(page).randbytes(PAGE)
    path.write_bytes(content)


def root_page(path: Path, name: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0])
    finally:
        connection.close()


def opening(path: Path) -> str:
    """Try to open the file, and return the reason why it cannot be."""
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(BadFile) as raised, owned_database(path):
        pass
    if before:
        assert path.read_bytes() == before
    return str(raised.value)


def the_end_of(server: Servers) -> str:
    """Wait until a server that cannot start has ended. Return its last words."""
    server.start()
    process = server._new
    assert process is not None
    assert process.wait(90) == 1
    server.pid, server._new = None, None
    return server.log.read_text()


def test_a_destroyed_header(path: Path) -> None:
    fill(path, 3)
    content = bytearray(path.read_bytes())
    content[:100] = bytes(100)
    path.write_bytes(content)

    assert "file is not a database; the file is damaged: stop, and start on a backup" in opening(path)


def test_a_file_that_is_cut_off(path: Path) -> None:
    fill(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])

    assert "the file is damaged" in opening(path)


def test_a_file_of_a_newer_version_is_left_as_it_is(path: Path) -> None:
    fill(path, 3)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()

    assert f"has format {FORMAT + 1}, and this version of onthedot knows formats up to {FORMAT}" in opening(path)


def let_others_pass(folder: Path) -> None:
    """Let another user reach the folder, however deep below the folder for temporary files it is."""
    while folder not in (Path(tempfile.gettempdir()), folder.parent):
        folder.chmod(folder.stat().st_mode | 0o011)
        folder = folder.parent


def test_a_read_only_file(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "onthedot.db"
    fill(path, 3)
    for each in (folder, path):
        if os.geteuid() == 0:
            os.chown(each, NOBODY, NOBODY)
    (folder / "onthedot.db.lock").unlink()
    path.chmod(0o400)
    let_others_pass(tmp_path)

    with without_rights():
        assert "readonly database" in opening(path)


def test_a_damaged_page_harms_only_the_records_on_it(path: Path) -> None:
    ids = fill(path)
    damage(path, path.read_bytes().index(b"http://127.0.0.1:9/150") // PAGE + 1)

    readable = 0
    with owned_database(path) as database:
        store = SqliteRunStore(database, SystemClock())
        for job_id in ids:
            with suppress(Unavailable):
                readable += store.get(job_id) is not None
        with pytest.raises(Unavailable, match="the file is damaged"), database.reading() as connection:
            connection.execute("SELECT sum(length(definition)) FROM runs").fetchall()

    assert len(ids) - 20 < readable < len(ids)


@pytest.mark.slow
def test_a_server_that_cannot_read_its_file_at_the_start_says_why(tmp_path: Path) -> None:
    with servers(tmp_path) as server:
        fill(server.data, 3)
        damage(server.data, root_page(server.data, "items"))

        words = the_end_of(server)

    assert "the file is damaged: stop, and start on a backup" in words
    assert "Traceback" not in words


@pytest.mark.slow
def test_a_server_on_a_damaged_page_answers_503_where_it_must_and_goes_on_elsewhere(tmp_path: Path) -> None:
    with servers(tmp_path) as server:
        job_id, *_ = fill(server.data)
        damage(server.data, root_page(server.data, "blobs"))
        server.start()
        until(lambda: is_up(server))

        job = {"callback_url": "http://127.0.0.1:9/x", "delay": 3600}
        assert server.api.call("POST", "/v1/jobs", {**job, "payload": "x" * 5_000})[0] == 503
        assert server.api.call("POST", "/v1/jobs", job)[0] == 202
        assert server.api.call("GET", f"/v1/jobs/{job_id}")[0] == 200


@pytest.mark.slow
def test_a_second_server_on_the_same_file_says_who_has_it(tmp_path: Path) -> None:
    with servers(tmp_path / "one") as first:
        first.start()
        first.wait_until_ready()
        with servers(tmp_path / "two", "--data", str(first.data)) as second:
            words = the_end_of(second)
        assert f"process {first.pid} serves {first.data}; stop it first, or use other data" in words
        assert "Traceback" not in words
        assert first.is_healthy()


def is_up(server: Servers) -> bool:
    try:
        return server.api.call("GET", "/v1/health")[0] in (200, 503)
    except urllib3.exceptions.HTTPError:
        return False


def test_an_opened_database_is_closed_when_it_cannot_be_used(path: Path) -> None:
    path.write_bytes(b"x" * PAGE * 2)
    with pytest.raises(Unavailable):
        Database(path)
    path.unlink()
    with Database(path):
        pass
