"""A bad *when* answers 422 with the field's name and what to do, and nothing is stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import NOON, a_world
from tests.unit.api.kit import Api, fields_of, message_of

EVERY: dict[str, Any] = {"every": 60}
CRON: dict[str, Any] = {"cron": "0 9 * * *"}
ONLY_RECURRING = {
    "start_at": "2030-01-01T00:00:00Z",
    "end_at": "2030-01-01T00:00:00Z",
    "max_runs": 1,
    "jitter_seconds": 1,
    "misfire": {},
    "overlap": "skip",
}
ONLY_CRON: dict[str, Any] = {"timezone": "Europe/Berlin", "dst": {}}


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


BAD_SCHEDULES: list[tuple[dict[str, Any], str, str]] = [
    *(({name: value}, name, "add cron or every") for name, value in ONLY_RECURRING.items()),
    *(({name: value, "delay": 3}, name, "add cron or every") for name, value in ONLY_RECURRING.items()),
    *(({name: value}, name, "only with cron") for name, value in ONLY_CRON.items()),
    *(({**EVERY, name: value}, name, "only with cron") for name, value in ONLY_CRON.items()),
    *(({**CRON, name: None}, name, "leave it out") for name in (*ONLY_RECURRING, *ONLY_CRON)),
    ({"cron": "x"}, "cron", "give 5"),
    ({"cron": "61 * * * *"}, "cron", "minute"),
    ({"cron": "0 0 30 2 *"}, "cron", "never comes"),
    ({"cron": "*/0 * * * *"}, "cron", "minute"),
    ({"cron": "٣ * * * *"}, "cron", "ASCII"),
    ({"cron": "* " * 200}, "cron", "at most 255"),
    ({"cron": 5}, "cron", "string"),
    ({"cron": None}, "cron", "leave it out"),
    ({"every": 0}, "every", "1 or more"),
    ({"every": 1.5}, "every", "whole number"),
    ({"every": "5"}, "every", "whole number"),
    ({"every": True}, "every", "whole number"),
    ({"every": 10**12}, "every", "or less"),
    ({**CRON, "timezone": "Mars"}, "timezone", "not a time zone"),
    ({**CRON, "timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin"),
    ({**CRON, "timezone": 1}, "timezone", "string"),
    ({**CRON, "dst": "skip"}, "dst", "object"),
    ({**CRON, "dst": {"gap": "x"}}, "dst.gap", "'run_after' or 'skip'"),
    ({**CRON, "dst": {"overlap": "x"}}, "dst.overlap", "'once' or 'twice'"),
    ({**CRON, "dst": {"colour": 1}}, "dst.colour", "unknown field"),
    ({**EVERY, "start_at": "tomorrow"}, "start_at", "RFC 3339"),
    ({**EVERY, "start_at": NOON // 1000 + 3654 * 86_400}, "start_at", "10 years"),
    ({**EVERY, "start_at": -1}, "start_at", "1970"),
    ({**EVERY, "end_at": NOON}, "end_at", "not milliseconds"),
    ({**EVERY, "end_at": 1e300}, "end_at", "9998"),
    ({**EVERY, "end_at": "2026-03-01T11:00:00Z"}, "end_at", "leaves no fire time"),
    ({**EVERY, "end_at": "2026-03-01T12:00:59Z"}, "end_at", "leaves no fire time"),
    ({**EVERY, "start_at": "2026-03-02T00:00:00Z", "end_at": "2026-03-01T23:00:00Z"}, "end_at", "before start_at"),
    ({**EVERY, "max_runs": 0}, "max_runs", "1 or more"),
    ({**EVERY, "max_runs": 10**400}, "max_runs", "or less"),
    ({**EVERY, "jitter_seconds": 901}, "jitter_seconds", "900 or less"),
    ({**EVERY, "jitter_seconds": -1}, "jitter_seconds", "0 or more"),
    ({**EVERY, "misfire": "skip"}, "misfire", "object"),
    ({**EVERY, "misfire": {"policy": "x"}}, "misfire.policy", "'run_latest', 'run_all' or 'skip'"),
    ({**EVERY, "misfire": {"grace_seconds": -1}}, "misfire.grace_seconds", "0 or more"),
    ({**EVERY, "misfire": {"grace_seconds": 10**9}}, "misfire.grace_seconds", "or less"),
    ({**EVERY, "overlap": "x"}, "overlap", "'allow', 'skip' or 'queue'"),
]


@pytest.mark.parametrize(("fields", "name", "advice"), BAD_SCHEDULES)
def test_a_bad_schedule_is_refused_by_name_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], name: str, advice: str
) -> None:
    response = api.submit(**fields)
    assert response.status == 422
    assert response.body["error"]["code"] == "invalid_request"
    assert fields_of(response) == {name}
    assert advice in message_of(response)
    assert api.stored() == []


@pytest.mark.parametrize("other", [{"at": "2030-01-01T00:00:00Z"}, {"delay": 1}, EVERY, {"on_event": {}}])
def test_a_cron_beside_another_when_is_refused_naming_both(api: Api, other: dict[str, Any]) -> None:
    response = api.submit(**CRON, **other)
    assert (response.status, fields_of(response)) == (422, {"cron", *other})
    assert api.stored() == []
