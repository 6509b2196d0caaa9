"""Whatever is sent to whichever route, no answer is a 500, and times go in and out unchanged and never early."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.api.http import Response
from onthedot.api.reading import field_names
from onthedot.api.route import Route
from onthedot.api.routes import ROUTES
from onthedot.api.times import milliseconds, parse_instant
from onthedot.core.clock import format_instant
from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.jobs.shapes import JobFields
from onthedot.jobs.spec import Has, fields_of
from onthedot.targets.http.messages import request_for
from onthedot.targets.rules import check_url
from onthedot.targets.types import HttpTarget
from tests.builders import World, a_world
from tests.unit.api.kit import SHELL, URL, Api, a_worker
from tests.unit.targets.samples import OF_EACH_TYPE

OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=OFFSETS)  # noqa: DTZ001
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
HINTS = st.sampled_from(
    [
        "* * * * *",
        "30 2 * * sun",
        "0 0 29 2 *",
        "UTC",
        "Europe/Berlin",
        "2026-03-01T11:00:00Z",
        "2026-03-02T12:00:00Z",
        "9998-12-31T23:59:59Z",
        "skip",
        "HIGH",
        "POST",
        URL,
        {"gap": "skip"},
        {"policy": "run_all"},
        {"type": "http", "url": URL},
        SHELL,
        {"capabilities": ["gpu"]},
        {"slots": 2, "cpu": 0.5},
        "SUCCEEDED",
        "LOST",
        ["HIGH"],
        ["job_x"],
        True,
        {},
        None,
        0,
        1,
        0.5,
        60,
        900,
        1e300,
        10**30,
    ]
)
FIELDS = st.sampled_from([field.name for field in fields_of(Has.JOB)])
JOBS = st.dictionaries(FIELDS, HINTS | JSON, max_size=6)
HALF = chr(0xD800)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture(scope="module")
def api(world: World) -> Api:
    return Api(world)


def check_new(api: Api, body: bytes, headers: dict[str, str] | None = None) -> None:
    """Submit the body as a job. A refusal stores nothing."""
    before = len(api.stored())
    if check(api, "POST", "/v1/jobs", body, headers).status != 202:
        assert len(api.stored()) == before


@given(body=st.binary(max_size=200))
def test_no_bytes_give_a_500(api: Api, body: bytes) -> None:
    check_new(api, body)


@given(body=JSON)
@settings(max_examples=200)
def test_no_json_gives_a_500(api: Api, body: Any) -> None:
    check_new(api, json.dumps(body).encode())


@pytest.mark.slow
@given(fields=JOBS, where=st.sampled_from([{}, {"callback_url": URL}, {"callback_url": URL, "every": 3600}]))
@settings(max_examples=500)
def test_no_job_gives_a_500(api: Api, fields: dict[str, Any], where: dict[str, Any]) -> None:
    check_new(api, json.dumps({**where, **fields}).encode())


@given(url=st.text(max_size=30) | st.from_regex(r"https?://[^/]{0,12}(:\d{0,6})?/.{0,9}"))
def test_no_url_gives_a_500(api: Api, url: str) -> None:
    check_new(api, json.dumps({"callback_url": url}).encode())


@given(headers=st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=5))
def test_no_target_headers_give_a_500(api: Api, headers: dict[str, str]) -> None:
    check_new(api, json.dumps({"target": {"type": "http", "url": URL, "headers": headers}}).encode())


@given(key=st.text(st.characters(), max_size=300) | st.just(HALF))
def test_no_key_in_the_header_gives_a_500(api: Api, key: str) -> None:
    check_new(api, json.dumps({"callback_url": URL}).encode(), {"Idempotency-Key": key})


@given(path=st.text(st.characters(), max_size=40) | st.text(max_size=200).map("/v1/jobs/{}".format))
def test_no_path_gives_a_500(api: Api, path: str) -> None:
    assert api.get(path).status in {200, 404, 405, 422}


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
        assert request_for(call).destination.host


EXPECTED = {200, 201, 202, 400, 404, 409, 412, 413, 422}


@pytest.fixture(scope="module")
def jobs(api: Api) -> dict[str, str]:
    return {
        "cron": api.job(cron="0 9 * * *", timezone="Europe/Berlin"),
        "every": api.job(every=3600),
        "once": api.job(delay=86_400),
        "over": api.job(),
    }


def bodies(*names: str) -> st.SearchStrategy[Any]:
    """Mostly nearly right."""
    return st.dictionaries(st.sampled_from([*names, "x"]), HINTS | JSON, max_size=6) | JSON


def check(api: Api, method: str, path: str, body: Any, headers: dict[str, str] | None = None) -> Response:
    response = api.call(method, path, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)
    assert response.status in EXPECTED, response.body
    assert json.loads(response.text.encode())
    if response.status in {400, 413, 422}:
        assert response.body["error"]["details"]
    return response


TYPES = sorted(OF_EACH_TYPE)
TARGET_NAMES = sorted({name for target in OF_EACH_TYPE.values() for name in target.__slots__})
CALLS = [
    route for route in ROUTES if route.method in {"POST", "PUT", "PATCH"} and "transfer" not in route.action.__module__
]
"""All calls that change something, but those that freeze the stage."""


@pytest.fixture(scope="module")
def ids(api: Api, jobs: dict[str, str]) -> list[str]:
    """Jobs, a worker, and a run that it has."""
    worker = a_worker(api)
    api.job(target=SHELL)
    return [*jobs.values(), worker.worker_id, worker.take()["execution_id"]]


@pytest.mark.slow
@given(data=st.data(), route=st.sampled_from(CALLS), version=st.none() | st.text(max_size=8))
@settings(max_examples=2_000)
def test_no_call_gives_a_500(api: Api, ids: list[str], data: st.DataObject, route: Route, version: str | None) -> None:
    names = [] if route.body is None else field_names(route.body)
    body = data.draw(bodies(*names) | st.binary(max_size=20))
    found = api.job(every=3600) if route.path.endswith("/cancel") else data.draw(st.sampled_from(ids))
    path = route.path.replace("{id}", found).replace("{name}", "stripe").replace("{tenant}", "other")
    check(api, route.method, path, body, {} if version is None else {"If-Match": version})


@given(body=bodies("jobs") | st.lists(bodies(*field_names(JobFields)), max_size=4).map(lambda jobs: {"jobs": jobs}))
@settings(max_examples=200)
def test_no_batch_gives_a_500(api: Api, body: Any) -> None:
    check(api, "POST", "/v1/jobs/batch", body)


@given(target=st.dictionaries(st.sampled_from(TARGET_NAMES), HINTS | JSON, max_size=4), kind=st.sampled_from(TYPES))
@settings(max_examples=400)
def test_no_target_gives_a_500(api: Api, jobs: dict[str, str], target: dict[str, Any], kind: str) -> None:
    body = {"target": {"type": kind, **target}}
    check(api, "POST", "/v1/jobs", {**body, "delay": 86_400})
    check(api, "PATCH", f"/v1/jobs/{jobs['once']}", body)


@given(names=st.sampled_from(["minutes", "limit", "cursor", "status", "capabilities", "x"]), value=st.text(max_size=12))
def test_no_query_gives_a_500(api: Api, jobs: dict[str, str], names: str, value: str) -> None:
    for path in ("/v1/forecast", f"/v1/jobs/{jobs['every']}/executions", "/v1/workers", "/v1/dead-letters"):
        assert api.ask(path, {names: value}).status in {200, 422}


def test_everything_is_still_shown_after_all_of_that(api: Api, jobs: dict[str, str]) -> None:
    for job_id in jobs.values():
        for path in ("", "/status", "/explain", "/executions"):
            assert api.get(f"/v1/jobs/{job_id}{path}").status == 200
