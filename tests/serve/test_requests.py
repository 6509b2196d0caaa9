"""Requests as they arrive on the wire: bounded, kept alive, refused in the form of the API."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from onthedot.core.ids import job_id_of
from tests.served import ServerProcess

MB = 1024 * 1024


@contextmanager
def a_connection(server: ServerProcess) -> Iterator[socket.socket]:
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), place.port), timeout=20) as connection:
        yield connection


def head(server: ServerProcess, method: str, path: str, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: x", f"authorization: Bearer {server.token}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Read one answer from the connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        assert part, "the connection was closed without an answer"
        received += part
    top, _, body = received.partition(b"\r\n\r\n")
    first, *lines = top.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return int(first.split()[1]), headers, json.loads(body) if body else None


def ask(server: ServerProcess, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, str], Any]:
    with a_connection(server) as connection:
        connection.sendall(head(server, method, path, content_length=str(len(body))) + body)
        return answer(connection)


def test_many_requests_use_one_connection(shared: ServerProcess) -> None:
    with a_connection(shared) as connection:
        for _ in range(5):
            connection.sendall(head(shared, "GET", "/v1/health"))
            assert answer(connection)[0] == 200


def test_requests_that_are_sent_together_are_answered_in_order(shared: ServerProcess) -> None:
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "GET", "/v1/health") + head(shared, "GET", "/v1/gates"))
        received = b""
        while received.count(b"HTTP/1.1 200") < 2 or not received.endswith(b"}"):
            received += connection.recv(65536)
    assert received.index(b'"version"') < received.index(b'"gates"')


def test_a_write_between_other_requests_is_answered_in_order(shared: ServerProcess) -> None:
    """Short writes take a way of their own through the server."""
    job = b'{"callback_url": "http://127.0.0.1:9/", "delay": 3600}'
    write = head(shared, "POST", "/v1/jobs", content_length=str(len(job))) + job
    with a_connection(shared) as connection:
        connection.sendall(write + head(shared, "GET", "/v1/gates") + write + write)
        received = b""
        while received.count(b"HTTP/1.1 ") < 4 or not received.endswith(b"}"):
            received += connection.recv(65536)
    first, second, third, fourth = (received.index(part) for part in (b"job_", b'"gates"', b"202 ", b"HTTP/1.1 200"))
    assert third < first < fourth < second
    assert received.count(b"HTTP/1.1 202") == 3
    assert received.rindex(b"HTTP/1.1 202") > second


def test_a_write_may_arrive_in_pieces_and_close_its_connection(shared: ServerProcess) -> None:
    job = b'{"callback_url": "http://127.0.0.1:9/", "delay": 3600}'
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "POST", "/v1/jobs", content_length=str(len(job)), connection="close"))
        for byte in range(0, len(job), 20):
            time.sleep(0.02)
            connection.sendall(job[byte : byte + 20])
        status, headers, _ = answer(connection)
        assert (status, headers["connection"]) == (202, "close")
        assert connection.recv(1) == b""


def test_a_write_is_done_once_when_its_client_hangs_up_at_once(shared: ServerProcess) -> None:
    job = b'{"callback_url": "http://127.0.0.1:9/", "delay": 3600, "name": "once"}'
    before = jobs_of(shared)
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "POST", "/v1/jobs", content_length=str(len(job))) + job)
        answer(connection)
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "POST", "/v1/jobs", content_length=str(len(job))) + job)
    deadline = time.monotonic() + 20
    while len(jobs_of(shared) - before) < 2:
        assert time.monotonic() < deadline
    time.sleep(0.3)
    assert len(jobs_of(shared) - before) == 2


def test_a_write_without_a_token_is_refused(shared: ServerProcess) -> None:
    with a_connection(shared) as connection:
        connection.sendall(b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
        assert answer(connection)[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("PUT", "/v1/jobs", 405, "method_not_allowed"),
        ("GET", "/v1/gates/%ff", 404, "not_found"),
        ("GET", "/v1/workers?status=%ff", 422, "invalid_request"),
        ("GET", "/v1/jobs?limit=1&limit=2", 422, "invalid_request"),
        ("POST", "/v1/jobs?unknown=1", 422, "invalid_request"),
    ],
)
def test_a_bad_request_has_the_form_of_the_api(
    shared: ServerProcess, method: str, path: str, status: int, code: str
) -> None:
    found, headers, body = ask(shared, method, path)
    assert (found, body["error"]["code"], headers["content-type"]) == (status, code, "application/json")


def test_a_head_request_has_no_body(shared: ServerProcess) -> None:
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "HEAD", "/v1/health", connection="close"))
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.startswith(b"HTTP/1.1 405")
    assert received.endswith(b"\r\n\r\n")


def test_a_body_of_ten_megabytes_is_read_and_a_larger_one_refused(shared: ServerProcess) -> None:
    assert ask(shared, "POST", "/v1/jobs", b" " * (10 * MB))[0] in (400, 413)
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "POST", "/v1/jobs", content_length=str(50 * MB)))
        connection.sendall(b" " * (10 * MB + 1))
        status, headers, body = answer(connection)
        assert (status, body["error"]["code"], headers["connection"]) == (413, "too_large", "close")


def jobs_of(server: ServerProcess) -> set[str]:
    """The ids of the stored jobs. A recurring job of another test may get a new run at any time."""
    return {job_id_of(run_id) for run_id in server.run_ids()}


def test_a_client_that_hangs_up_in_its_body_submits_nothing(shared: ServerProcess) -> None:
    job = json.dumps({"callback_url": "http://127.0.0.1:9/", "delay": 3_600, "name": "half"}).encode()
    before = jobs_of(shared)
    with a_connection(shared) as connection:
        connection.sendall(head(shared, "POST", "/v1/jobs", content_length=str(len(job) + 100)) + job)
        time.sleep(0.1)
    time.sleep(0.2)
    assert jobs_of(shared) == before
    assert "Traceback" not in shared.said()
