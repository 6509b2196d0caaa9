"""Causes: runs that failed in the same way have the same text, and a person can read it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.records import Attempt, Record, Status
from onthedot.jobs.causes import MOST_CHARACTERS, UNKNOWN, cause_of
from tests.builders import NOON, VirtualClock, a_run


def failed(error: str | None, error_class: str | None = None, outcome: str = "failed") -> Record:
    run = a_run(VirtualClock()).build()
    attempt = Attempt(1, "worker_1", NOON, NOON, outcome, error, error_class)
    return replace(run, status=Status.FAILED, attempts=(attempt,), reason="gave up after 1 attempt")


@pytest.mark.parametrize(
    ("error", "error_class", "cause"),
    [
        ("answered 503: try again at 12:30", "http_503", "HTTP 503"),
        ("ServiceUnavailable while calling", "grpc_UNAVAILABLE", "gRPC UNAVAILABLE"),
        (
            "failed while connecting to api.example.com port 443: Connection refused",
            "connection",
            "connection refused: api.example.com:443",
        ),
        (
            "failed while resolving api.example.com: Name or service not known",
            "dns",
            "name or service not known: api.example.com",
        ),
        (
            "failed while setting up TLS with api.example.com: the certificate is not trusted: expired",
            "tls",
            "the certificate is not trusted: expired: api.example.com",
        ),
        (
            "failed while reading the answer: the connection was closed without an answer",
            "connection",
            "the connection was closed without an answer",
        ),
        ("timed out after 60000 ms while reading the answer", "timeout", "timed out while reading the answer"),
        (
            "timed out after 3000 ms while connecting to db.local port 5432",
            "timeout",
            "timed out while connecting to db.local:5432",
        ),
        ("the handler's process died: signal 9", "lost", "worker died (signal 9)"),
        ("worker worker_1f was lost in attempt 4", "lost", "worker was lost"),
        ("exit 2: cannot open /data/42.csv", "exit_2", "exit 2: cannot open /data/….csv"),
        ("exit 1", "exit_1", "exit 1"),
        ("signal 11", "signal_11", "program died (signal 11)"),
        ("its parent load (job_aaaaaaaaaaaaaaaaaaaaaaaaaa) failed: boom", None, "its parent load (…) failed: boom"),
        ("killed by signal 9 at 2,048 MB", "killed", "killed by signal 9 at … MB"),
        ("ValueError: user 17 isn't 'known'", "ValueError", "ValueError: user … isn't …"),
        ("no user 17", "LookupError", "LookupError: no user …"),
        ("ThrottlingException: rate 5 exceeded", "ThrottlingException", "ThrottlingException: rate … exceeded"),
        ("boom 3", None, "boom …"),
        ("order 6f1c2d3e-0000-4000-8000-0123456789ab is gone", None, "order … is gone"),
        ("at 2026-11-18T09:00:00Z: hash deadbeef01 is wrong", None, "at …T…Z: hash … is wrong"),
        ("cannot run missing: No such file or directory", "not_found", "cannot run missing: No such file or directory"),
    ],
)
def test_a_cause_is_readable(error: str, error_class: str | None, cause: str) -> None:
    assert cause_of(failed(error, error_class)) == cause


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user 17 is unknown", "user 4711 is unknown"),
        ('bad value "a b"', 'bad value "c"'),
        ("bad value 'it'", "bad value 'that'"),
        ("no job_aaaaaaaaaaaaaaaaaaaaaaaaaa", "no job_bbbbbbbbbbbbbbbbbbbbbbbbbb.001772366460000"),
        ("object at 0x7f12ab", "object at 0xffff00"),
        ("no answer from 10.0.0.1:80", "no answer from 10.0.0.27:8080"),
    ],
)
def test_values_that_differ_do_not_make_another_cause(one: str, other: str) -> None:
    assert cause_of(failed(one)) == cause_of(failed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("answered 503", "http_503"), ("answered 500", "http_500")),
        (
            ("failed while connecting to a.example port 443: Connection refused", "connection"),
            ("failed while connecting to b.example port 443: Connection refused", "connection"),
        ),
        (("the handler's process died: signal 9", "lost"), ("the handler's process died: signal 11", "lost")),
        (("x", "KeyError"), ("x", "ValueError")),
    ],
)
def test_what_tells_causes_apart_stays(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert cause_of(failed(*one)) != cause_of(failed(*other))


def test_a_run_without_an_attempt_has_the_cause_of_its_reason() -> None:
    run = replace(
        failed(None), attempts=(), reason="undeliverable: sent 7 times, never started by any worker of pool p2"
    )
    assert cause_of(run) == "undeliverable: never started by any worker of pool p2"


def test_a_run_without_any_text_has_a_cause() -> None:
    assert cause_of(replace(failed(None), attempts=(), reason=None)) == UNKNOWN


@given(st.text(max_size=400), st.one_of(st.none(), st.text(max_size=60)), st.sampled_from(["failed", "lost"]))
def test_every_error_has_a_short_cause(error: str, error_class: str | None, outcome: str) -> None:
    cause = cause_of(failed(error, error_class, outcome))
    assert 0 < len(cause) <= MOST_CHARACTERS
    assert len(cause.splitlines()) == 1
