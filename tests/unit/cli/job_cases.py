"""Options of `onthedot schedule` and `onthedot change`, with the fields that they send. Together they name every field.

The names of the fields come from the models of the API, so a new field without an option fails a test.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter

URL: Final = "https://api.example.com/remind"
JOB: Final = "job_aaaaaaaaaaaaaaaaaaaaaaaaaa"
PATTERN: Final = '{"source": ["shop"], "detail": {"total": [{"numeric": [">", 5]}]}}'


class Case(NamedTuple):
    """The words of a command, and the body that it sends."""

    words: list[str]
    body: dict[str, Any]

    def fields(self) -> set[str]:
        """Return the names of the fields in the body, as `fields_of` has them."""
        return {name for field, value in self.body.items() for name in _names(field, value)}


CASES: Final = (
    Case(["--name", "report"], {"name": "report"}),
    Case(["--description", 'it\'s "new" $HOME'], {"description": 'it\'s "new" $HOME'}),
    Case(["--tag", "team=core", "--tag", "free="], {"tags": {"team": "core", "free": ""}}),
    Case(
        ["--at", "2030-01-31T09:30:00", "--tz", "Europe/Berlin"],
        {"at": "2030-01-31T09:30:00", "timezone": "Europe/Berlin"},
    ),
    Case(["--in", "1.5s"], {"delay": 1.5}),
    Case(["--cron", "30 2 * * *"], {"cron": "30 2 * * *"}),
    Case(["--every", "90s"], {"every": 90}),
    Case(["--every", "rate(5 minutes)"], {"every": "rate(5 minutes)"}),
    Case(["--on-event", PATTERN], {"on_event": {"source": ["shop"], "detail": {"total": [{"numeric": [">", 5]}]}}}),
    Case(["--dst-gap", "skip"], {"dst": {"gap": "skip"}}),
    Case(["--dst-overlap", "twice"], {"dst": {"overlap": "twice"}}),
    Case(["--start-at", "2030-01-01T00:00:00.000Z"], {"start_at": "2030-01-01T00:00:00.000Z"}),
    Case(["--end-at", "2031-01-01T00:00:00.000Z"], {"end_at": "2031-01-01T00:00:00.000Z"}),
    Case(["--max-runs", "7"], {"max_runs": 7}),
    Case(["--jitter", "30s"], {"jitter_seconds": 30}),
    Case(["--overlap", "queue"], {"overlap": "queue"}),
    Case(["--misfire", "run_all"], {"misfire": {"policy": "run_all"}}),
    Case(["--misfire", "skip", "--misfire-grace", "5m"], {"misfire": {"policy": "skip", "grace_seconds": 300}}),
    Case(["--start-within", "10m"], {"start_within_seconds": 600}),
    Case(["--http", URL], {"callback_url": URL}),
    Case(
        ["--http", URL, "--method", "PUT", "--header", "X-Team:a: b"],
        {"target": {"type": "http", "url": URL, "method": "PUT", "headers": {"X-Team": "a: b"}}},
    ),
    Case(["--python", "send-email"], {"target": {"type": "python", "handler": "send-email"}}),
    Case(["--shell", "echo 'a b'"], {"target": {"type": "shell", "argv": ["echo", "a b"]}}),
    Case(
        ["--target", '{"type": "lambda", "function": "report"}'], {"target": {"type": "lambda", "function": "report"}}
    ),
    Case(
        ["--target", '{"type": "aws", "service": "sqs", "action": "SendMessage", "input": {"QueueUrl": "q"}}'],
        {"target": {"type": "aws", "service": "sqs", "action": "SendMessage", "input": {"QueueUrl": "q"}}},
    ),
    Case(
        ["--target", '{"type": "grpc", "address": "a.example.com:443", "method": "a.B/C", "tls": true}'],
        {"target": {"type": "grpc", "address": "a.example.com:443", "method": "a.B/C", "tls": True}},
    ),
    Case(["--payload", '{"a": [true, null]}'], {"payload": {"a": [True, None]}}),
    Case(["--priority", "high"], {"priority": "HIGH"}),
    Case(["--gate", "stripe", "--gate", "customer:42"], {"gates": ["stripe", "customer:42"]}),
    Case(["--timeout", "2m"], {"timeout_seconds": 120}),
    Case(["--max-retries", "0"], {"retry": {"max_retries": 0}}),
    Case(["--backoff", "0.5s"], {"retry": {"backoff_seconds": 0.5}}),
    Case(
        ["--backoff-factor", "1.5", "--max-backoff", "1h", "--backoff-jitter", "off"],
        {"retry": {"factor": 1.5, "max_backoff_seconds": 3600, "jitter": False}},
    ),
    Case(["--backoff-jitter", "on"], {"retry": {"jitter": True}}),
    Case(["--capability", "gpu", "--capability", "eu"], {"requirements": {"capabilities": ["gpu", "eu"]}}),
    Case(
        ["--cpu", "0.5", "--memory-mb", "512", "--storage-mb", "1024"],
        {"requirements": {"cpu": 0.5, "memory_mb": 512, "storage_mb": 1024}},
    ),
    Case(["--cpu", "2"], {"requirements": {"cpu": 2}}),
    Case(["--depends-on", JOB, "--on-parent-failure", "run"], {"dependencies": [JOB], "on_parent_failure": "run"}),
    Case(["--idempotency-key", "k"], {"idempotency_key": "k"}),
)


def with_work(case: Case) -> Case:
    """Return the case as a new job needs it: with something to run."""
    if case.body.keys() & {"target", "callback_url"}:
        return case
    return Case([*case.words, "--http", URL], {**case.body, "callback_url": URL})


def fields_of(model: Any) -> set[str]:
    """Return the names of all fields that a model takes, such as `retry.factor` and `target.http.url`."""
    schema = TypeAdapter(model).json_schema()
    return set(_in_object(schema, schema.get("$defs", {}), ""))


def _in_object(schema: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in schema["properties"].items():
        objects = [one for one in _resolved(field, definitions) if "properties" in one]
        if not objects and prefix + name != "type":
            yield prefix + name
        for one in objects:
            kind = one["properties"].get("type", {}).get("const")
            inner = {**one, "properties": {each: of for each, of in one["properties"].items() if each != "type"}}
            yield from _in_object(inner if kind else one, definitions, f"{prefix}{name}.{f'{kind}.' if kind else ''}")


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas that a field may have."""
    if "$ref" in field:
        yield from _resolved(definitions[field["$ref"].rpartition("/")[2]], definitions)
    elif choices := field.get("anyOf") or field.get("oneOf") or field.get("allOf"):
        for choice in choices:
            yield from _resolved(choice, definitions)
    else:
        yield field


def _names(field: str, value: Any) -> Iterator[str]:
    if field == "target":
        yield from (f"target.{value['type']}.{name}" for name in value if name != "type")
    elif field in ("dst", "misfire", "retry", "requirements"):
        yield from (f"{field}.{name}" for name in value)
    else:
        yield field
