"""Bad input answers 4xx with the field's name and what to do, and nothing is stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import NOON, a_world
from tests.unit.api.kit import URL, Api, fields_of, message_of

NOW_SECONDS = NOON // 1000
DAY = 86_400
LATER = ("workflow", "depends_on")


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


def http(**fields: Any) -> dict[str, Any]:
    return {"target": {"type": "http", "url": URL, **fields}}


def headers(**fields: Any) -> dict[str, Any]:
    return http(headers={name.replace("_", "-"): value for name, value in fields.items()})


BAD_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    *(({name: "x"}, name, "unknown field") for name in (*LATER, "colour")),
    ({"dealy": 3}, "dealy", "did you mean delay?"),
    ({"calback_url": URL}, "calback_url", "did you mean callback_url?"),
    ({"max_retries": 3}, "max_retries", "did you mean retry.max_retries?"),
    ({"max_retrys": 3}, "max_retrys", "did you mean retry.max_retries?"),
    ({"url": URL}, "url", "did you mean target.url?"),
    ({"target": {"type": "http", "url": URL, "headrs": {}}}, "target.headrs", "did you mean headers?"),
    ({"target": {"type": "http", "url": URL, "colour": "x"}}, "target.colour", "remove it"),
    ({"requirements": {"memory": 1}}, "requirements.memory", "did you mean memory_mb?"),
    ({"tags": {"a": "x" * 256}}, "tags.a", "at most 255"),
    ({"retry": {"max_retry": 3}}, "retry.max_retry", "did you mean max_retries?"),
    ({"tags": {"": "x"}}, "tags.", "empty"),
    ({"tags": {"k" * 256: "x"}}, f"tags.{'k' * 100}…", "at most 255"),
    ({"gates": [""]}, "gates.0", "1 to 64"),
    ({"gates": ["a" * 65]}, "gates.0", "1 to 64"),
    ({"gates": ["@tenant"]}, "gates.0", "1 to 64"),
    ({"gates": [":42"]}, "gates.0", "1 to 64"),
    ({"gates": ["stripe\n"]}, "gates.0", "1 to 64"),
    ({"gates": ["customer:"]}, "gates.0", "1 to 128"),
    ({"gates": ["customer:" + "k" * 129]}, "gates.0", "1 to 128"),
    ({"gates": ["customer:a\nb"]}, "gates.0", "printed"),
    ({"gates": ["stripe", "stripe"]}, "gates.1", "twice"),
    ({"gates": ["stripe"]}, "gates.0", "no gate stripe; make it first with PUT /v1/gates/stripe"),
    ({"gates": ["customer:42"]}, "gates.0", "no gate customer; make it"),
    ({"at": "2030-01-01T00:00:00"}, "at", "no offset"),
    ({"at": "2030-01-01"}, "at", "not a time"),
    ({"at": "tomorrow"}, "at", "RFC 3339"),
    ({"at": "2030-02-30T00:00:00Z"}, "at", "does not exist"),
    ({"at": "2030-01-01T00:00:00+24:00"}, "at", "impossible offset"),
    ({"at": "２０３０-01-01T00:00:00Z"}, "at", "not a time"),
    ({"at": NOW_SECONDS - DAY - 1}, "at", "in the past"),
    ({"at": NOW_SECONDS + 3654 * DAY}, "at", "10 years"),
    ({"at": NOON}, "at", "not milliseconds"),
    ({"at": 10**400}, "at", "10 years"),
    ({"at": 1e300}, "at", "10 years"),
    ({"target": "x"}, "target", "object"),
    ({"target": {"url": URL}}, "target.type", "missing"),
    ({"target": {"type": "http"}}, "target.url", "missing"),
    ({"target": {"type": "smoke"}}, "target.type", "unknown type 'smoke'; give 'http', 'lambda', 'aws', 'shell'"),
    ({"target": {"type": 3, "url": URL}}, "target.type", "'http'"),
    (http(colour="red"), "target.colour", "unknown field"),
    (http(method="post"), "target.method", "'POST'"),
    (http(method="TRACE"), "target.method", "'POST'"),
    (http(headers=[]), "target.headers", "object"),
    (headers(**{f"x{n}": "" for n in range(51)}), "target.headers", "at most 50"),
    (headers(A="x" * 4096, B="y" * 4096), "target.headers", "8,192"),
    (headers(accept="a", Accept="b"), "target.headers", "two spellings"),
    (headers(A="b\r\nEvil: c"), "target.headers.A", "line breaks"),
    (headers(A="€"), "target.headers.A", "Latin-1"),
    (headers(A=3), "target.headers.A", "string"),
    (http(headers={"a b": "c"}), "target.headers.a b", "header name"),
    (http(headers={"": "c"}), "target.headers.", "header name"),
    *(
        (headers(**{name: "x"}), f"target.headers.{name}", "set by the scheduler")
        for name in ("Idempotency-Key", "X-OnTheDot-Job", "host", "Content-Length", "Transfer-Encoding", "Connection")
    ),
    (headers(webhook_signature="x"), "target.headers.webhook-signature", "set by the scheduler"),
]


@pytest.mark.parametrize(("fields", "name", "advice"), BAD_FIELDS)
def test_a_bad_field_is_refused_by_name_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], name: str, advice: str
) -> None:
    response = api.submit(**fields)
    assert response.status == 422
    assert response.body["error"]["code"] == "invalid_request"
    assert fields_of(response) == {name}
    assert advice in message_of(response)
    assert api.stored() == []


BAD_URLS = [
    ("example.com/hook", "scheme"),
    ("//example.com", "scheme"),
    ("ftp://example.com", "scheme"),
    ("", "scheme"),
    ("http://", "host"),
    ("http:example.com", "host"),
    ("http://:80/", "host"),
    ("http://a..b/", "host"),
    ("http://" + "a" * 64 + ".com/", "host"),
    ("http://[::1/", "host"),
    ("http://[v1.a]/", "host"),
    ("http://x[::1]/", "host"),
    ("http://[::1]x:80/", "host"),
    ("http://::1/", "host"),
    ("http://[fe80::1%25eth0]/", "host"),
    ("http://user:secret@example.com/", "credentials"),
    ("http://@example.com/", "credentials"),
    ("http://example.com:99999/", "port"),
    ("http://example.com:0/", "port"),
    ("http://example.com:http/", "port"),
    ("http://example.com/a b", "spaces"),
    ("http://example.com/\n", "control"),
    (" http://example.com/", "spaces"),
    ("http://exämple.com/", "non-ASCII"),
    ("http://example.com\\@evil.com/", "backslash"),
    ("http://example.com/" + "x" * 2048, "at most 2048"),
]


@pytest.mark.parametrize(("url", "advice"), BAD_URLS)
def test_a_bad_url_is_refused_as_callback_and_as_target(api: Api, url: str, advice: str) -> None:
    short, whole = api.submit(callback_url=url), api.submit(**http(url=url))
    assert (short.status, fields_of(short)) == (422, {"callback_url"})
    assert (whole.status, fields_of(whole)) == (422, {"target.url"})
    assert advice in message_of(short)
    assert api.stored() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "2030-01-01T00:00:00Z", "delay": 3},
        {"at": "2030-01-01T00:00:00Z", "cron": "* * * * *"},
        {"cron": "* * * * *", "every": 5, "on_event": {}},
        {"callback_url": URL, "target": {"type": "http", "url": URL}},
    ],
)
def test_two_of_a_choice_are_refused_naming_each(api: Api, fields: dict[str, Any]) -> None:
    response = api.submit(**fields)
    assert (response.status, fields_of(response)) == (422, set(fields))
    assert api.stored() == []


def test_a_job_without_target_is_told_what_is_missing(api: Api) -> None:
    response = api.post({})
    assert (response.status, fields_of(response)) == (422, {"target"})
    assert "callback_url" in message_of(response)


def test_every_mistake_is_named_at_once(api: Api) -> None:
    assert fields_of(api.submit(delay=-1, priority="x", colour=1)) == {"delay", "priority", "colour"}


def test_a_thousand_mistakes_make_a_short_answer(api: Api) -> None:
    response = api.submit(**{"x" * 1000 + str(n): n for n in range(1000)})
    assert response.status == 422
    assert len(response.text) < 8_000


@pytest.mark.parametrize(
    ("key", "name"), [("", "Idempotency-Key"), ("x" * 256, "Idempotency-Key"), ("other", "idempotency_key")]
)
def test_a_bad_key_in_the_header_is_refused(api: Api, key: str, name: str) -> None:
    response = api.submit({"idempotency-key": key}, idempotency_key="one")
    assert (response.status, fields_of(response)) == (422, {name})
    assert api.stored() == []
