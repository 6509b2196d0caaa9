"""The ASGI application while its file fails."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onthedot.access.ports import Token
from onthedot.access.tokens import create_token
from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.engines.sqlite.database import Database
from onthedot.serve.app import App
from onthedot.serve.server import LOCAL_USER
from onthedot.targets.rules import AllowList
from onthedot.wiring.embedded import Embedded, embedded, server_deployment


class FailingTokens:
    """A store of tokens whose file cannot be read."""

    def find(self, token_hash: str) -> Token | None:
        raise Unavailable("database: disk I/O error")


def call(app: App, path: str, authorization: str | None) -> tuple[int, Any]:
    sent: list[Mapping[str, Any]] = []

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def parts_on(database: Database) -> Embedded:
    return embedded(database, SystemClock(), server_deployment(["http"], AllowList(), cpus=1.0, memory_mb=1024))


def test_a_caller_whose_token_cannot_be_read_is_asked_to_try_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A 401 would make clients give up, or throw their token away."""
    with Database(tmp_path / "jobs.db") as database:
        parts = parts_on(database)
        failing = replace(parts, engine=replace(parts.engine, tokens=FailingTokens()))  # type: ignore[arg-type] # it needs no more
        app = App(failing, "http://127.0.0.1")

        status, answer = call(app, "/v1/jobs/job_a", "Bearer something-long-enough")

        assert (status, answer["error"]["code"]) == (503, "unavailable")
        assert "tokens_unreadable" in caplog.text
        assert call(app, "/v1/health", None)[0] in (200, 503)
        app.close()
        parts.writer.close()


def test_a_caller_with_a_token_is_let_in_and_one_without_is_not(tmp_path: Path) -> None:
    with Database(tmp_path / "jobs.db") as database:
        parts = parts_on(database)
        token, _ = create_token(parts.engine.tokens, SystemClock(), LOCAL_USER)
        app = App(parts, "http://127.0.0.1")

        assert call(app, "/v1/jobs/job_a", f"Bearer {token}")[0] == 404
        assert call(app, "/v1/jobs/job_a", "Bearer otd_wrong")[0] == 401
        assert call(app, "/v1/jobs/job_a", None)[0] == 401
        app.close()
        parts.writer.close()
