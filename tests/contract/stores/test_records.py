"""Blobs."""

import pytest
import urllib3

from onthedot.core.ports import Blobs, ListedBlobs
from tests.builders import a_world
from tests.contract.kits.ministack_kit import Clients, MiniStackKit


def test_a_blob_comes_back_byte_by_byte(blobs: Blobs) -> None:
    content = bytes(range(256)) * 1000

    blobs.put("payloads/abc", content)
    blobs.put("payloads/empty", b"")

    assert blobs.get("payloads/abc") == content
    assert blobs.get("payloads/empty") == b""


def test_a_blob_may_be_put_twice(blobs: Blobs) -> None:
    blobs.put("payloads/abc", b"same")
    blobs.put("payloads/abc", b"same")

    assert blobs.get("payloads/abc") == b"same"


def test_a_missing_blob_is_none(blobs: Blobs) -> None:
    assert blobs.get("payloads/nothing") is None


def test_the_keys_of_blobs_are_listed_in_order_and_in_pages(blobs: ListedBlobs) -> None:
    for key in ("payloads/b", "payloads/a/2", "payloads/a/1", "results/a", "payload"):
        blobs.put(key, b"x")

    assert list(blobs.keys("payloads/", "", 2)) == ["payloads/a/1", "payloads/a/2"]
    assert list(blobs.keys("payloads/", "payloads/a/2", 2)) == ["payloads/b"]
    assert list(blobs.keys("payloads/", "payloads/a/1x", 9)) == ["payloads/a/2", "payloads/b"]
    assert list(blobs.keys("other/", "", 9)) == []


def test_blobs_are_deleted_and_those_that_are_gone_are_no_error(blobs: ListedBlobs) -> None:
    keys = [f"payloads/{number:04}" for number in range(3)]
    for key in keys:
        blobs.put(key, b"x")

    blobs.delete([*keys[:2], "payloads/nothing"])
    blobs.delete(keys[:1])
    blobs.delete([])

    assert [blobs.get(key) for key in keys] == [None, None, b"x"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"n": 1}', "application/json"),
        ('"grüße"'.encode(), "application/json"),
        ("grüße 🎉".encode(), "text/plain; charset=utf-8"),
        (b"<script>alert(1)</script>", "text/plain; charset=utf-8"),
        (b"[" * 100_000, "text/plain; charset=utf-8"),
        (b"\xff\x00", "text/plain; charset=utf-8"),
    ],
)
def test_a_link_shows_a_blob_to_whoever_has_it(ministack: Clients, content: bytes, kind: str) -> None:
    blobs = MiniStackKit(ministack).blobs()
    blobs.put("results/job_a.1/1-ä b", content)

    link = blobs.link("results/job_a.1/1-ä b", 60)

    assert link is not None
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=60" in link
    response = urllib3.request("GET", link)
    assert (response.status, response.data, response.headers["content-type"]) == (200, content, kind)


def test_the_embedded_engine_has_no_links() -> None:
    with a_world() as world:
        world.blobs.put("results/a", b"{}")

        assert world.blobs.link("results/a", 60) is None
