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
    *(({name: value}, name, "only with cron") for name, value in ONLY_CRON.items()),
    *(({**EVERY, name: value}, name, "only with cron") for name, value in ONLY_CRON.items()),
    ({"cron": "x"}, "cron", "give 5"),
    ({"cron": "0 0 30 2 *"}, "cron", "never comes"),
    ({"cron": "*/0 * * * *"}, "cron", "minute"),
    ({"cron": "٣ * * * *"}, "cron", "ASCII"),
    ({"cron": "* " * 200}, "cron", "at most 255"),
    ({**CRON, "timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin"),
    ({**EVERY, "start_at": NOON // 1000 + 3654 * 86_400}, "start_at", "10 years"),
    ({**EVERY, "end_at": NOON}, "end_at", "not milliseconds"),
    ({**EVERY, "end_at": 1e300}, "end_at", "9998"),
    ({**EVERY, "end_at": "2026-03-01T11:00:00Z"}, "end_at", "leaves no fire time"),
    ({**EVERY, "end_at": "2026-03-01T12:00:59Z"}, "end_at", "leaves no fire time"),
    ({**EVERY, "start_at": "2026-03-02T00:00:00Z", "end_at": "2026-03-01T23:00:00Z"}, "end_at", "before start_at"),
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
