"""Results and payloads as clients see them: text when short, a link when long, text again where there are no links."""

from dataclasses import replace

import pytest

from onthedot.core.finish import store_result
from onthedot.core.records import Definition, Record
from onthedot.jobs.contents import ShownPayload, ShownResult, short_result, shown_payload, store_payload, whole_result
from onthedot.targets.types import HttpTarget, WorkflowTarget
from tests.builders import VirtualClock, a_run

LONG = "x" * 5_000


class Blobs:
    """Blobs in memory, with or without links."""

    def __init__(self, *, links: bool) -> None:
        self._links = links
        self._contents: dict[str, bytes] = {}

    def put(self, key: str, content: bytes) -> None:
        self._contents[key] = content

    def get(self, key: str) -> bytes | None:
        return self._contents.get(key)

    def link(self, key: str, seconds: int) -> str | None:
        return f"https://blobs/{key}?{seconds}" if self._links else None


@pytest.fixture
def run() -> Record:
    return a_run(VirtualClock()).having(attempt=1, attempt_token="token").build()


def with_result(run: Record, blobs: Blobs, result: str) -> Record:
    text, ref = store_result(blobs, run, result)
    return replace(run, result=text, result_ref=ref)


def test_a_short_result_is_text(run: Record) -> None:
    blobs = Blobs(links=True)
    done = with_result(run, blobs, "short")
    assert short_result(blobs, done) == whole_result(blobs, done) == ShownResult("short", None)


def test_a_long_result_is_a_link(run: Record) -> None:
    blobs = Blobs(links=True)
    done = with_result(run, blobs, LONG)
    shown = whole_result(blobs, done)
    assert shown == short_result(blobs, done) == ShownResult(None, f"https://blobs/{done.result_ref}?900")


def test_a_long_result_is_text_where_the_engine_has_no_links(run: Record) -> None:
    blobs = Blobs(links=False)
    done = with_result(run, blobs, LONG)
    assert short_result(blobs, done) == ShownResult(None, None)
    assert whole_result(blobs, done) == ShownResult(LONG, None)


def test_a_large_payload_is_read_and_has_a_link() -> None:
    blobs = Blobs(links=True)
    definition = store_payload(blobs, "acme", Definition(HttpTarget(""), payload=LONG))
    assert shown_payload(blobs, definition) == ShownPayload(LONG, f"https://blobs/{definition.payload_ref}?900")


def test_the_payload_of_a_workflow_is_not_shown() -> None:
    assert shown_payload(Blobs(links=True), Definition(WorkflowTarget(), payload={"jobs": []})).value is None
