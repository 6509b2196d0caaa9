"""A target as one line, and a recorded error: neither has a secret."""

import pytest

from onthedot.targets.redaction import redacted
from onthedot.targets.types import (
    MOST_CHARACTERS,
    AwsTarget,
    CanaryTarget,
    GrpcTarget,
    HttpTarget,
    LambdaTarget,
    PythonTarget,
    ShellTarget,
    Target,
    WorkflowTarget,
    one_line,
)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (HttpTarget("https://example.com/hook"), "POST https://example.com/hook"),
        (HttpTarget("http://example.com:8080", "PUT"), "PUT http://example.com:8080"),
        (LambdaTarget("report"), "lambda report"),
        (AwsTarget("sqs", "SendMessage", {"MessageBody": "secret"}), "aws sqs SendMessage"),
        (ShellTarget(("backup", "--all")), "shell backup --all"),
        (GrpcTarget("10.0.0.1:50051", "mail.Sender/Send"), "grpc 10.0.0.1:50051 mail.Sender/Send"),
        (PythonTarget("send-email"), "python send-email"),
        (WorkflowTarget("nightly"), "workflow nightly"),
        (CanaryTarget(), "canary"),
    ],
)
def test_a_line_says_what_is_called(target: Target, line: str) -> None:
    assert one_line(target) == line


@pytest.mark.parametrize(
    "target",
    [
        HttpTarget("https://user:hunter2@example.com/hook"),
        HttpTarget("https://example.com/hook?key=hunter2"),
        HttpTarget("https://example.com/", headers={"Authorization": "Bearer hunter2hunter2"}),
        ShellTarget(("curl", "--password=hunter2")),
        ShellTarget(("curl", "-H", "Authorization: hunter2")),
    ],
)
def test_a_line_has_no_secret(target: Target) -> None:
    assert "hunter2" not in one_line(target)


def test_a_line_is_one_short_line() -> None:
    line = one_line(ShellTarget(("sh", "-c", "a\nb\x1b[31m" + "x" * 900)))
    assert len(line) == MOST_CHARACTERS
    assert line.isprintable()


SECRET = "s3cr3t-Value.42"


@pytest.mark.parametrize(
    "text",
    [
        f"answered 401 to Authorization: Bearer {SECRET}",
        f"basic {SECRET}=",
        f"GET https://user:{SECRET}@example.com/x",
        f"https://example.com/?api_key={SECRET}&page=2",
        f'{{"password": "{SECRET} with spaces"}}',
        f"X-Auth-Token: {SECRET}",
        f"Authorization: Token {SECRET}",
        f"authorization: ApiKey {SECRET}",
        f"Authorization: AWS4-HMAC-SHA256 Credential=x/y, SignedHeaders=host, Signature={SECRET}",
        f"GET https://{SECRET}@example.com/x",
        f"https://x.blob.example.com/f?sv=1&sig={SECRET}&se=2",
        f"Set-Cookie: sid={SECRET}; Path=/",
        f'the body was {{"password": "{SECRET} and the rest was cut',
        f"pass={SECRET}",
        f'{{"password": "a\\"{SECRET}"}}',
    ],
)
def test_a_secret_beside_its_name_is_hidden(text: str) -> None:
    assert SECRET not in redacted(text)
    assert "***" in redacted(text)


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY----- MIIEowIBAAKCAQEA7 b+/= -----END RSA PRIVATE KEY-----",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_what_looks_like_a_key_is_hidden_without_a_name(secret: str) -> None:
    assert redacted(f"it said {secret}, sorry") == "it said ***, sorry"


@pytest.mark.parametrize(
    "text",
    [
        "answered 503: try again later",
        "timed out after 60000 ms while connecting to example.com port 443",
        "ValueError: order 42 has no token left to spend",
        "https://example.com/path?page=2&size=10",
        "the secretary of the basic unit",
        "PermissionError: Authorization failed for user 7, signal 9",
        "write to support@example.com or see https://example.com/@someone",
        "bypass=1, design=2",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redacted(text) == text
