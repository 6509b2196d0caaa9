"""Programs and handlers report how far they are, and the API shows it while they run."""

from typing import Any

import pytest

from tests.e2e.homes import Api, until

SCRIPT = 'echo "0.42 rows 420 of 1,000" >&$ONTHEDOT_PROGRESS_FD; cat; sleep 240'
SHELL = {"type": "shell", "argv": ["sh", "-c", SCRIPT]}
SECONDS = 60
"""Leases are extended every ten seconds, and other tests use the machine."""


def with_progress(api: Api, run_id: str) -> dict[str, Any]:
    until(lambda: api.execution(run_id)["progress"], SECONDS)
    return api.execution(run_id)


@pytest.mark.usefixtures("able_home")
def test_a_program_and_a_handler_show_their_progress_while_they_run(api: Api) -> None:
    program = api.submit(target=SHELL, timeout_seconds=300)["job_id"]
    handler = api.submit(target={"type": "python", "handler": "report"}, timeout_seconds=300)["job_id"]
    views = [with_progress(api, run_id) for run_id in (program, handler)]
    assert [(view["progress"]["fraction"], view["progress"]["text"]) for view in views] == [
        (0.42, "rows 420 of 1,000"),
        (0.5, "half"),
    ]
    for view in views:
        assert view["status"] == "RUNNING"
        assert view["started_at"] < view["progress"]["at"] < view["deadline"]
        assert view["running_ms"] > 0
    listed = api.call("GET", f"/v1/jobs/{program}/executions")[1]["executions"][0]
    assert listed["progress"] == views[0]["progress"]
    for run_id in (program, handler):
        api.call("PUT", f"/v1/jobs/{run_id}/cancel")
    # The handler sees the request and returns, so its run succeeds. The program is killed.
    api.wait_for(program, "CANCELLED", seconds=SECONDS)
    api.wait_for(handler, "SUCCEEDED", seconds=SECONDS)
    ended = [api.execution(run_id) for run_id in (program, handler)]
    assert [view["progress"] and view["progress"]["fraction"] for view in ended] == [0.42, None]
    assert [(view["deadline"], view["running_ms"]) for view in ended] == [(None, None)] * 2
