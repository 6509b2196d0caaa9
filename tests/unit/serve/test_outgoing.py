"""Answers to an ASGI server: which are compressed, and their lengths."""

import asyncio
import gzip
from collections.abc import Mapping
from typing import Any

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.serve.app import LEAST_COMPRESSED, send_response
from tests.builders import a_world

GZIP = (b"accept-encoding", b"br, gzip;q=0.8")
FILE = {"Content-Type": "text/css", "Vary": "Accept-Encoding"}
LONG = "a { color: red }\n" * 100


def sent(response: Response, *asked: tuple[bytes, bytes]) -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and content of the answer."""
    messages: list[Mapping[str, Any]] = []

    async def send(message: Mapping[str, Any]) -> None:
        messages.append(message)

    asyncio.run(send_response(send, response, asked))
    start, body = messages
    return start["status"], dict(start["headers"]), body["body"]


@pytest.mark.parametrize("asked", [GZIP[1], b"*", b"GZIP"])
def test_a_file_is_compressed_for_those_who_take_it(asked: bytes) -> None:
    status, headers, content = sent(Response(200, LONG, FILE), (GZIP[0], asked))
    assert (status, headers[b"content-encoding"], headers[b"vary"]) == (200, b"gzip", b"Accept-Encoding")
    assert gzip.decompress(content).decode() == LONG
    assert headers[b"content-length"] == str(len(content)).encode()
    assert len(content) < len(LONG) / 10


@pytest.mark.parametrize(
    "asked",
    [[], [(b"accept-encoding", b"br")], [(b"accept-encoding", b"gzip;q=0, br")], [(b"accept", b"gzip")]],
    ids=["nothing", "another", "refused", "another header"],
)
def test_a_file_is_sent_as_it_is_to_others(asked: list[tuple[bytes, bytes]]) -> None:
    _, headers, content = sent(Response(200, LONG, FILE), *asked)
    assert b"content-encoding" not in headers
    assert content.decode() == LONG
    assert headers[b"content-length"] == str(len(LONG)).encode()


def test_a_short_file_and_an_answer_that_is_no_file_are_not_compressed() -> None:
    short = "a" * (LEAST_COMPRESSED - 1)
    assert b"content-encoding" not in sent(Response(200, short, FILE), GZIP)[1]
    assert b"content-encoding" not in sent(Response(200, LONG, {"Content-Type": "application/json"}), GZIP)[1]


def test_an_answer_without_a_body_has_no_length() -> None:
    _, headers, content = sent(Response(304, "", FILE), GZIP)
    assert content == b""
    assert b"content-length" not in headers


def test_the_console_itself_is_compressed() -> None:
    with a_world() as world:
        page = handle(world.engine, Request("GET", "/console"))
    status, headers, content = sent(page, GZIP)
    assert (status, headers[b"content-encoding"]) == (200, b"gzip")
    assert gzip.decompress(content).startswith(b"<!doctype html>")
