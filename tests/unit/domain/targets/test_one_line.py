"""A target as one line: it names the callee, and no secret."""

import pytest

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
        HttpTarget("https://example.com/hook#hunter2"),
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
