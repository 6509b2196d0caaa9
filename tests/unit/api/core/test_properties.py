"""What holds for every input: no body gives a 500, and times go in and out unchanged and never early."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.api.times import milliseconds, parse_instant
from onthedot.core.instants import format_instant
from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.jobs.spec import Has, fields_of
from onthedot.targets.http.messages import request_for
from onthedot.targets.rules import check_url
from onthedot.targets.types import HttpTarget
from tests.builders import a_world
from tests.unit.api.kit import URL, Api

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=OFFSETS)  # noqa: DTZ001
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
HINTS = st.sampled_from([URL, "http", "POST", "HIGH", "2026-03-01T12:00:00Z", {"type": "http", "url": URL}, 3, 0.5])
FIELDS = st.sampled_from([field.name for field in fields_of(Has.JOB)])
JOBS = st.dictionaries(FIELDS, HINTS | JSON, max_size=6)
HALF = chr(0xD800)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


def check(api: Api, body: bytes, headers: dict[str, str] | None = None) -> None:
    before = len(api.stored())
    response = api.post(body, headers)
    assert response.status in {202, 400, 409, 413, 422}
    assert json.loads(response.text.encode())
    if response.status != 202:
        assert response.body["error"]["details"]
        assert len(api.stored()) == before


@given(body=st.binary(max_size=200))
def test_no_bytes_give_a_500(api: Api, body: bytes) -> None:
    check(api, body)


@given(body=JSON)
@settings(max_examples=200)
def test_no_json_gives_a_500(api: Api, body: Any) -> None:
    check(api, json.dumps(body).encode())


@given(fields=JOBS, where=st.sampled_from([{}, {"callback_url": URL}]))
@settings(max_examples=500)
def test_no_job_gives_a_500(api: Api, fields: dict[str, Any], where: dict[str, Any]) -> None:
    check(api, json.dumps({**fields, **where}).encode())


@given(url=st.text(max_size=30) | st.from_regex(r"https?://[^/]{0,12}(:\d{0,6})?/.{0,9}"))
def test_no_url_gives_a_500(api: Api, url: str) -> None:
    check(api, json.dumps({"callback_url": url}).encode())


@given(headers=st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=5))
def test_no_target_headers_give_a_500(api: Api, headers: dict[str, str]) -> None:
    check(api, json.dumps({"target": {"type": "http", "url": URL, "headers": headers}}).encode())


@given(key=st.text(st.characters(), max_size=300) | st.just(HALF))
def test_no_key_in_the_header_gives_a_500(api: Api, key: str) -> None:
    check(api, json.dumps({"callback_url": URL}).encode(), {"Idempotency-Key": key})


@given(path=st.text(st.characters(), max_size=40) | st.text(max_size=200).map("/v1/jobs/{}".format))
def test_no_path_gives_a_500(api: Api, path: str) -> None:
    assert api.get(path).status in {200, 404, 405}


@given(instant=st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_what_goes_out_comes_in_again(instant: int) -> None:
    assert parse_instant(format_instant(instant)) == instant


@given(moment=MOMENTS)
def test_an_offset_is_applied_and_no_time_is_early(moment: datetime) -> None:
    instant = parse_instant(moment.isoformat())
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert instant * 1000 - 1000 < microseconds <= instant * 1000


@given(moment=MOMENTS)
def test_a_naive_time_is_refused(moment: datetime) -> None:
    with pytest.raises(ValueError, match="no offset"):
        parse_instant(moment.replace(tzinfo=None).isoformat())


@given(instant=st.integers(0, 4_102_444_800_000))
def test_epoch_seconds_keep_their_milliseconds(instant: int) -> None:
    assert parse_instant(instant / 1000) == instant


@given(seconds=st.floats(0, 1e300) | st.integers(0, 10**400))
def test_a_length_of_time_is_rounded_up_to_the_millisecond(seconds: float) -> None:
    exact = Decimal(repr(seconds)) * 1000 if isinstance(seconds, float) else seconds * 1000
    assert milliseconds(seconds) >= exact > milliseconds(seconds) - 1


@given(text=st.text(max_size=40))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(parse_instant(text), int)


@given(url=st.text(max_size=30) | st.from_regex(r"https?://[\[\]a-z0-9.:%_-]{0,14}(:\d{0,6})?/.{0,9}", fullmatch=True))
@settings(max_examples=500)
def test_a_url_that_is_accepted_can_be_called(url: str) -> None:
    with suppress(ValueError):
        call = Call("r", "j", 1, 0, Definition(HttpTarget(check_url(url))), b"null", 1000)
        assert request_for(call).host
