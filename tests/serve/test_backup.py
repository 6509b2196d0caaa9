"""A backup that is made beside a running server, and a server that is started on it."""

from pathlib import Path

from tests.e2e.homes import Api
from tests.served import a_server, command


def test_a_server_on_a_backup_has_all_jobs_of_the_first_one(tmp_path: Path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy.db"
    with a_server(first) as server:
        api = Api(server.url, server.token, 0.02)
        ids = [api.submit(callback_url="http://127.0.0.1:9/later", delay=86_400)["job_id"] for _ in range(5)]
        made = command(first, "backup", str(copy))
        assert made.returncode == 0, made.stderr
        assert copy.stat().st_mode & 0o777 == 0o600
        again = command(first, "backup", str(copy))
        assert again.returncode != 0, "a backup is not overwritten"
        token = server.token
    with a_server(tmp_path / "second", "--data", str(copy)) as restored:
        api = Api(restored.url, token, 0.02)
        assert [api.call("GET", f"/v1/jobs/{job_id}/status")[1]["status"] for job_id in ids] == ["PENDING"] * 5
