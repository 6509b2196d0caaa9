"""Progress, tokens and blobs."""

import pytest
import urllib3

from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.slots import SlotKind, bucket_of
from onthedot.ports import Blobs, Clock, Principal, ProgressStore, TokenStore
from tests.builders import a_world
from tests.contract.kits.ministack_kit import Clients, MiniStackKit


def test_progress_begins_where_the_store_was_made(progress: ProgressStore, clock: Clock) -> None:
    """Whenever the first tick comes, the records that were stored before it are in no earlier slot."""
    begun = progress.read_progress(0)

    assert begun.done == {}
    assert begun.born is not None
    assert bucket_of(clock.now()) - 1 <= begun.born <= bucket_of(clock.now())


def test_progress_once_written_knows_no_birth(progress: ProgressStore) -> None:
    progress.write_progress(0, progress.read_progress(0).with_pass(SlotKind.FIRE, 0, 7))

    assert progress.read_progress(0) == PassProgress({SlotKind.FIRE: {0: 7}})


def test_progress_comes_back_as_written_and_groups_are_apart(progress: ProgressStore) -> None:
    first = PassProgress({SlotKind.FIRE: {0: 100, 1: 101}, SlotKind.WATCH: {0: 97, 1: 99}})
    other = PassProgress({SlotKind.FIRE: {2: 5}})

    progress.write_progress(0, first)
    progress.write_progress(1, other)

    assert progress.read_progress(0) == first
    assert progress.read_progress(1) == other


def test_progress_is_replaced_whole_and_may_go_back(progress: ProgressStore) -> None:
    progress.write_progress(0, PassProgress({SlotKind.FIRE: {0: 100, 1: 101}, SlotKind.WATCH: {0: 97}}))
    earlier = PassProgress({SlotKind.FIRE: {0: 90}})

    progress.write_progress(0, earlier)

    assert progress.read_progress(0) == earlier


def test_a_token_is_found_by_its_hash(tokens: TokenStore) -> None:
    principal = Principal("acme", "admin", "ci")
    tokens.add("hash-1", principal, 1_772_366_400_000)
    tokens.add("hash-2", Principal("globex", "viewer", "zoë"), 1_772_366_400_000)

    assert tokens.find("hash-1") == principal
    assert tokens.find("hash-2") == Principal("globex", "viewer", "zoë")


def test_an_unknown_token_is_nobody(tokens: TokenStore) -> None:
    assert tokens.find("hash-1") is None


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
