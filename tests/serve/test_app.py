"""The ASGI application by itself: slow requests, full threads, and a writer that is busy."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from onthedot.access.ports import Token
from onthedot.access.tokens import create_token
from onthedot.core.errors import Unavailable
from onthedot.serve import app as app_module
from onthedot.serve.app import App, LongPolls
from onthedot.wiring.embedded import Embedded
from tests.serve.leases import ACME, SOON, a_job, a_worker

Answer = tuple[int, dict[str, str], Any]


@contextmanager
def an_app(parts: Embedded) -> Iterator[tuple[App, str]]:
    made = App(parts, "http://here")
    yield made, create_token(parts.engine.tokens, parts.engine.clock, ACME)[0]
    made.close()


class Client:
    """One request to an application."""

    def __init__(self, app: App, token: str | None) -> None:
        self._app, self._token = app, token
        self.hung_up = asyncio.Event()

    async def ask(self, method: str, path: str, body: bytes = b"", *, half: bool = False) -> Answer | None:
        """Return the answer. `half`: the rest of the body never comes."""
        parts = self._parts(body, half=half)
        sent: list[Mapping[str, Any]] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {self._token}".encode())] if self._token else [],
        }
        receive: Callable[[], Awaitable[Any]] = parts.__anext__
        await self._app(scope, receive, _collector(sent))
        if not sent:
            return None
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headers, json.loads(sent[1]["body"])

    async def _parts(self, body: bytes, *, half: bool) -> AsyncIterator[Any]:
        yield {"type": "http.request", "body": body, "more_body": half}
        await self.hung_up.wait()
        yield {"type": "http.disconnect"}


def _collector(sent: list[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], Awaitable[None]]:
    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    return send


class FailingTokens:
    """A store of tokens whose file cannot be read."""

    def find(self, token_hash: str) -> Token | None:
        raise Unavailable("database: disk I/O error")


def test_a_caller_whose_token_cannot_be_read_is_asked_to_try_again(
    parts: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    """A 401 would make clients give up, or throw their token away."""
    app = App(replace(parts, engine=replace(parts.engine, tokens=FailingTokens())), "http://here")  # type: ignore[arg-type] # it needs no more
    answer = asyncio.run(Client(app, "something-long-enough").ask("GET", "/v1/jobs/job_a"))
    health = asyncio.run(Client(app, None).ask("GET", "/v1/health"))
    app.close()
    assert answer is not None
    assert health is not None
    assert (answer[0], answer[2]["error"]["code"]) == (503, "unavailable")
    assert health[0] == 200
    assert "tokens_unreadable" in caplog.text


def test_a_body_that_does_not_arrive_in_time_is_refused(parts: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "BODY_SECONDS", 0.05)

    async def ask(made: tuple[App, str]) -> Answer | None:
        return await Client(*made).ask("POST", "/v1/jobs", b"{", half=True)

    with an_app(parts) as made:
        answer = asyncio.run(ask(made))
    assert answer is not None
    assert (answer[0], answer[1]["connection"], answer[2]["error"]["code"]) == (408, "close", "timeout")


def test_health_is_answered_while_the_writer_is_busy(parts: Embedded) -> None:
    busy, free = threading.Event(), threading.Event()

    def block() -> None:
        busy.set()
        assert free.wait(20)

    async def ask(made: tuple[App, str]) -> Answer | None:
        return await asyncio.wait_for(Client(*made).ask("GET", "/v1/health"), SOON)

    with an_app(parts) as made:
        blocked = threading.Thread(target=lambda: parts.writer.run(block))
        blocked.start()
        assert busy.wait(10)
        try:
            answer = asyncio.run(ask(made))
        finally:
            free.set()
            blocked.join(10)
    assert answer is not None
    assert (answer[0], answer[2]["status"]) == (200, "starting")


def test_a_lease_whose_worker_hangs_up_ends_without_a_run(parts: Embedded) -> None:
    worker = a_worker(parts.engine)

    async def lease(made: tuple[App, str]) -> Answer | None:
        client = Client(*made)
        call = asyncio.ensure_future(client.ask("POST", f"/v1/workers/{worker}/lease", b'{"wait_seconds": 20}'))
        await asyncio.sleep(0.15)
        assert not call.done()
        client.hung_up.set()
        return await asyncio.wait_for(call, SOON)

    with an_app(parts) as made:
        answer = asyncio.run(lease(made))
    assert answer is not None
    assert answer[2]["runs"] == []


def test_all_leases_end_when_the_server_is_to_stop(parts: Embedded) -> None:
    workers = [a_worker(parts.engine, f"waiting-{n}") for n in range(3)]

    async def lease(made: tuple[App, str]) -> list[Answer | None]:
        asked = [
            asyncio.ensure_future(Client(*made).ask("POST", f"/v1/workers/{one}/lease", b'{"wait_seconds": 20}'))
            for one in workers
        ]
        await asyncio.sleep(0.15)
        assert not any(call.done() for call in asked)
        made[0].end_waits()
        late = Client(*made).ask("POST", f"/v1/workers/{workers[0]}/lease", b'{"wait_seconds": 20}')
        return await asyncio.wait_for(asyncio.gather(*asked, late), SOON)

    with an_app(parts) as made:
        answers = asyncio.run(lease(made))
    assert [answer and answer[2]["runs"] for answer in answers] == [[]] * 4


def test_a_lease_that_finds_no_thread_is_answered_at_once_and_other_calls_too(
    parts: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "LongPolls", lambda handle: LongPolls(handle, 1))
    first, second = (a_worker(parts.engine, name) for name in ("first", "second"))

    async def lease(made: tuple[App, str]) -> None:
        patient = Client(*made)
        call = asyncio.ensure_future(patient.ask("POST", f"/v1/workers/{first}/lease", b'{"wait_seconds": 20}'))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        answer = await Client(*made).ask("POST", f"/v1/workers/{second}/lease", b'{"wait_seconds": 20}')
        assert answer is not None
        assert (answer[2]["runs"], time.monotonic() - began < SOON) == ([], True)
        job = a_job(parts.engine)
        answer = await asyncio.wait_for(call, SOON)
        assert answer is not None
        assert [run["execution_id"] for run in answer[2]["runs"]] == [job]

    with an_app(parts) as made:
        asyncio.run(lease(made))
