"""`onthedot bootstrap` and `onthedot deploy`: checks of the account, the calls of `cdk`, and the last lines."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from onthedot.cli.deploying import cdk, checks
from onthedot.cli.deploying import deploy as deploy_module
from onthedot.cli.operations import tokens as tokens_module
from onthedot.cli.output import steps
from tests.unit.cli.conftest import invoke
from tests.unit.cli.fake_account import (
    ACCOUNT,
    ARN,
    FakeAccount,
    FakeClone,
    assembly,
    fake_clone,
    no_answer,
    no_credentials,
    refusal,
    use_fakes,
)

LOCAL = "http://127.0.0.1:4566"
ADA = {"tenant": "acme", "role": "operator", "name": "ada"}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    made = FakeAccount()
    use_fakes(monkeypatch, made)
    return made


@pytest.fixture
def clone(tmp_path: Path) -> FakeClone:
    return fake_clone(tmp_path, sys.executable)


class FakeTokens:
    """The tokens of a stage."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.there: list[dict[str, Any]] = []

    def post_once(self, path: str, body: Any) -> dict[str, Any]:
        self.made.append(body)
        return {"token": "otd_secret", "id": "tok_1", "expires_at": None}

    def entries(self, path: str, name: str, **query: str) -> Iterator[dict[str, Any]]:
        assert query == {}
        return iter(self.there)


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> FakeTokens:
    made = FakeTokens()
    monkeypatch.setattr(deploy_module, "tokens_of_stage", {"dev": made}.__getitem__)
    return made


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch, tokens: FakeTokens) -> FakeTokens:
    monkeypatch.setattr(deploy_module, "has_terminal", lambda: True)
    return tokens


def deploy(*arguments: str, typed: str | None = None) -> Result:
    return invoke("deploy", "--stage", "dev", *arguments, typed=typed)


def line_of(result: Result, name: str) -> str:
    """The line of the check with this name."""
    [line] = [line for line in result.output.splitlines() if line[2:].startswith(f"{name} ")]
    return line


def test_a_deployment_checks_the_account_then_runs_cdk_then_names_the_api(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = deploy("-c", "shards=8", "--hotswap", "-c", "history_days=14", "--role-arn", "arn:x")
    assert result.exit_code == 0, result.output
    assert line_of(result, "region") == "✓ region       eu-west-1"
    assert line_of(result, "credentials") == f"✓ credentials  {ARN} of account {ACCOUNT}"
    assert line_of(result, "templates") == "✓ templates    onthedot-dev-api"
    assert {line_of(result, name)[0] for name in ("bootstrap", "concurrency")} == {"✓"}
    assert [call["arguments"][0] for call in clone.calls()] == ["synth", "deploy"]
    synth, deployed = clone.arguments("synth"), clone.arguments("deploy")
    assert synth[4:-2] == ["-c", "stage=dev", "-c", "shards=8", "-c", "history_days=14"]
    assert deployed[-5:-2] == ["--hotswap", "--role-arn", "arn:x"]
    assert "-c" not in deployed
    assert deployed[deployed.index("--app") + 1] == synth[synth.index("--output") + 1]
    assert deployed[deployed.index("--require-approval") + 1] == "never"
    assert {call["environment"]["AWS_ENDPOINT_URL"] for call in clone.calls()} == {None}
    assert "API      https://abc.execute-api.eu-west-1.amazonaws.com/dev\n" in result.output
    assert "Console  https://abc.execute-api.eu-west-1.amazonaws.com/dev/console\n" in result.output
    assert result.output.endswith(
        "Next     onthedot tokens create --stage dev --tenant TENANT --role operator --name NAME\n"
    )


def test_at_a_terminal_no_is_an_answer(account: FakeAccount, clone: FakeClone, at_a_terminal: FakeTokens) -> None:
    result = deploy(typed="n\n")
    assert f"Deploy stage dev to account {ACCOUNT} in eu-west-1?" in result.output
    assert (result.exit_code, [call["arguments"][0] for call in clone.calls()]) == (1, ["synth"])


def test_nothing_is_asked_with_yes_or_without_a_terminal(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deploy(typed="").exit_code == 0
    monkeypatch.setattr(deploy_module, "has_terminal", lambda: True)
    result = deploy("--yes", typed="")
    assert (result.exit_code, "?" in result.output) == (0, False)


def test_an_account_that_cannot_be_used_is_refused_before_anything_is_built(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(name: str, *arguments: str) -> str:
        for command in (["deploy", "--stage", "dev"], *([["bootstrap"]] if name in ("region", "credentials") else [])):
            result = invoke(*command, *arguments)
            assert (result.exit_code, line_of(result, name)[0]) == (1, "✗")
        return line_of(result, name)

    for error, said in (
        (no_credentials(), "Unable to locate credentials"),
        (refusal("ExpiredToken", "The security token is expired"), "The security token is expired"),
        (no_answer("https://sts"), "https://sts"),
    ):
        account.identity = error
        assert said in refused("credentials")
    account.identity = None
    for version in (None, 5):
        account.bootstrap = version
        assert "run `onthedot bootstrap`" in refused("bootstrap")
    assert ACCOUNT in refused("account", "-c", "account=999999999999")
    use_fakes(monkeypatch, account, region=None)
    assert "--region" in refused("region")
    assert clone.calls() == []


def test_a_new_accounts_concurrency_is_refused_with_both_ways_out(account: FakeAccount, clone: FakeClone) -> None:
    account.concurrency = 10
    result = deploy()
    assert result.exit_code == 1
    line = line_of(result, "concurrency")
    assert line.startswith("✗")
    for part in (" 10 ", "129", "L-B99A9384", "-c worker_concurrency=6"):
        assert part in line
    assert [call["arguments"][0] for call in clone.calls()] == ["synth"]
    account.concurrency = 129
    assert deploy().exit_code == 0, "just enough"


def test_facts_that_the_credentials_may_not_read_do_not_stop_the_deployment(
    account: FakeAccount, clone: FakeClone
) -> None:
    account.bootstrap = refusal("AccessDeniedException", "not allowed to read parameters")
    account.concurrency = refusal("AccessDeniedException", "not allowed to read settings")
    result = deploy()
    assert result.exit_code == 0
    assert line_of(result, "bootstrap").startswith("?")
    assert "not allowed to read settings" in line_of(result, "concurrency")


@pytest.mark.parametrize(("fargate", "tasks", "passes"), [(6.0, 3, True), (6.0, 4, False), (None, 3, True)])
def test_fargate_pools_are_compared_with_the_accounts_cpus(
    account: FakeAccount, clone: FakeClone, fargate: float | None, tasks: int, passes: bool
) -> None:
    account.fargate = fargate
    clone.will_synthesize(assembly(tasks=tasks))
    result = deploy()
    assert line_of(result, "Fargate").startswith("✓" if passes else "✗")
    assert f"{2 * tasks}" in line_of(result, "Fargate")
    assert (result.exit_code == 0) is passes


@pytest.mark.parametrize("there", [True, False])
def test_fargate_pools_need_the_role_of_ecs_and_docker_for_images(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    account.roles = {"AWSServiceRoleForECS"} if there else set()
    (docker := clone.root / "docker").write_text("#!/bin/sh\n" + ("exit 0\n" if there else "sleep 20\n"))
    docker.chmod(0o755)
    monkeypatch.setenv("CDK_DOCKER", str(docker))
    monkeypatch.setattr(checks, "DOCKER_SECONDS", 5 if there else 0.2)
    without = deploy().output
    assert "ECS" not in without
    assert "Docker" not in without
    clone.will_synthesize(assembly(tasks=1, images=True))
    result = deploy()
    assert {line_of(result, name)[0] for name in ("ECS", "Docker")} == {"✓" if there else "✗"}, "all are shown"
    assert ("aws iam create-service-linked-role" in line_of(result, "ECS")) is not there
    assert (result.exit_code == 0) is there


def test_a_wrong_context_value_ends_the_command_with_the_message_of_the_app(
    account: FakeAccount, clone: FakeClone, capfd: pytest.CaptureFixture[str]
) -> None:
    clone.will_fail("synth", "did you mean shards?")
    result = deploy("-c", "shard=3")
    assert (result.exit_code, line_of(result, "templates")[0]) == (1, "✗")
    assert "did you mean shards?" in capfd.readouterr().out
    assert [call["arguments"][0] for call in clone.calls()] == ["synth"]


def test_a_deployment_that_fails_ends_with_the_exit_code_of_cdk_and_makes_no_token(
    account: FakeAccount, clone: FakeClone, tokens: FakeTokens
) -> None:
    clone.will_fail("deploy", "the table exists already")
    result = deploy("--token", "acme:operator:ada")
    assert (result.exit_code, "is deployed" in result.output, tokens.made) == (3, False, [])


@pytest.mark.parametrize("command", ["deploy", "destroy"])
def test_a_name_that_no_stage_can_have_is_refused(account: FakeAccount, clone: FakeClone, command: str) -> None:
    for name in ("Prod", "../x", "", "a" * 21, "1st"):
        assert invoke(command, "--stage", name).exit_code == 2, name
    assert clone.calls() == []


def test_a_context_value_decides_the_region_and_must_agree_with_the_option(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = deploy("-c", "region=us-west-2", "-c", f"account={ACCOUNT}")
    assert line_of(result, "region").endswith("us-west-2")
    assert line_of(result, "account").startswith("✓")
    assert {call["environment"]["AWS_REGION"] for call in clone.calls()} == {"us-west-2"}
    assert deploy("-c", "region=us-west-2", "--region", "eu-west-1").exit_code == 2


@pytest.mark.parametrize(("url", "here"), [(LOCAL, True), ("http://[::1]:1", True), ("https://aws.example", False)])
def test_an_endpoint_on_this_machine_gets_layers_for_this_machine_and_no_change_sets(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch, url: str, here: bool
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url if here else LOCAL)
    result = deploy(*([] if here else ["--endpoint-url", url]))
    assert result.exit_code == 0
    synth, deployed = clone.calls()
    assert ("local=true" in synth["arguments"]) is here
    assert ("--method" in deployed["arguments"]) is here
    for call in (synth, deployed):
        assert call["environment"]["AWS_ENDPOINT_URL"] == call["environment"]["AWS_ENDPOINT_URL_S3"] == url
    assert f"API      {url}/restapis/abc/dev/_user_request_\n" in result.output


@pytest.mark.parametrize("url", ["127.0.0.1:4566", "http://", "http://["])
def test_an_endpoint_that_is_no_url_is_refused(account: FakeAccount, clone: FakeClone, url: str) -> None:
    assert deploy("--endpoint-url", url).exit_code == 2


def test_the_users_options_replace_ours(account: FakeAccount, clone: FakeClone) -> None:
    deploy("--require-approval", "any", "--concurrency=1")
    arguments = clone.arguments("deploy")
    assert arguments.count("--require-approval") == 1
    assert "--concurrency" not in arguments


def test_bootstrap_prepares_the_account_of_the_credentials_outside_of_the_clone(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = invoke("bootstrap", "--region", "us-west-2", "--tags", "a=b")
    assert result.exit_code == 0, result.output
    [call] = clone.calls()
    assert call["arguments"][:4] == ["bootstrap", f"aws://{ACCOUNT}/us-west-2", "--tags", "a=b"]
    assert not Path(call["at"]).is_relative_to(clone.root)
    assert "Next: AWS_REGION=us-west-2 onthedot deploy --stage" in result.output
    as_json = invoke("bootstrap", "--region", "eu-west-1", "--json")
    assert json.loads(as_json.stdout) == {"action": "bootstrap", "account": ACCOUNT, "region": "eu-west-1"}
    clone.will_fail("bootstrap", "denied")
    assert invoke("bootstrap").exit_code == 1


def test_an_interrupted_command_leaves_no_cdk_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def wait(self, timeout: float | None = None) -> int:
            if not started:
                started.append(self)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, {})
    assert started[0].returncode is not None


ENDED = """
import sys
from pathlib import Path
from onthedot.cli.deploying.cdk import run
program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
run([sys.executable, "-c", program], Path("."), {})
"""


def test_a_command_that_is_ended_by_sigterm_ends_cdk_too() -> None:
    with subprocess.Popen([sys.executable, "-c", ENDED], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        child = int(command.stdout.readline())
        command.terminate()
        assert command.wait(timeout=30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_next_step_works_on_the_account_and_region_of_the_options(
    account: FakeAccount, clone: FakeClone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile replaces keys, as in the AWS command line. boto3 and Node read two names of the region."""
    (profiles := tmp_path / "profiles").write_text('[profile "my team"]\nregion = sa-east-1\n')
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profiles))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    assert deploy("--profile", "my team").exit_code == 0
    environment = clone.calls()[-1]["environment"]
    assert {environment[name] for name in ("AWS_REGION", "AWS_DEFAULT_REGION")} == {"sa-east-1"}
    assert (environment["AWS_PROFILE"], "AWS_ACCESS_KEY_ID" in os.environ) == ("my team", False)
    result = deploy("--profile", "my team", "--region", "us-east-2")
    assert "Next     AWS_PROFILE='my team' AWS_REGION=us-east-2 onthedot tokens create --stage dev " in result.output
    result = deploy("-c", "region=us-east-2")
    assert "Next     AWS_REGION=us-east-2 onthedot tokens create --stage dev " in result.output


def test_every_command_finds_the_region_that_deploy_finds(
    monkeypatch: pytest.MonkeyPatch, account: FakeAccount
) -> None:
    """boto3 reads only AWS_DEFAULT_REGION, and the AWS command line prefers AWS_REGION."""
    from onthedot.wiring.aws import default_region

    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    seen: list[str | None] = []

    def tokens_of_stage(_stage: str) -> FakeTokens:
        seen.append(default_region())
        return FakeTokens()

    monkeypatch.setattr(tokens_module, "tokens_of_stage", tokens_of_stage)
    create = ["tokens", "create", "--stage", "dev", "--tenant", "acme", "--role", "operator", "--name", "ada"]
    assert invoke(*create).stdout == "otd_secret\n"
    assert seen == ["eu-west-3"]


def test_a_token_that_cannot_be_made_is_refused_before_anything_runs(account: FakeAccount, clone: FakeClone) -> None:
    for text in ("acme", "acme:operator", "acme:boss:ada", ":operator:ada", "onthedot:operator:ada"):
        assert deploy("--token", text).exit_code == 2, text
    assert clone.calls() == []


@pytest.mark.parametrize(
    ("there", "answers", "made"),
    [
        ([], "y\ny\nacme\nadmin\neve\n", [{"tenant": "acme", "role": "admin", "name": "eve"}]),
        ([], "y\nn\n", []),
        ([{"id": "tok_0"}], "y\n", []),
    ],
    ids=["wanted", "not wanted", "there is one"],
)
@pytest.mark.usefixtures("account", "clone")
def test_at_a_terminal_the_first_token_is_offered(
    at_a_terminal: FakeTokens, there: Any, answers: str, made: Any
) -> None:
    at_a_terminal.there = there
    result = deploy(typed=answers)
    assert (result.exit_code, at_a_terminal.made) == (0, made)
    assert ("otd_secret" in result.output) is bool(made)
    assert ("Next     onthedot tokens create" in result.output) is not made


def test_json_has_the_urls_the_stacks_and_the_token(
    account: FakeAccount, clone: FakeClone, tokens: FakeTokens, capfd: pytest.CaptureFixture[str]
) -> None:
    result = deploy("--yes", "--token", "acme:operator:ada", "--json")
    done = json.loads(result.stdout)
    assert (done["action"], done["stage"], done["account"]) == ("deploy", "dev", ACCOUNT)
    assert done["api_url"].startswith("https://")
    assert done["stacks"]
    assert (tokens.made, done["token"]["token"], done["token"]["id"]) == ([ADA], "otd_secret", "tok_1")
    assert "Stage dev is deployed." in result.stderr
    assert "Token    otd_secret\n" in result.stderr
    assert "Next " not in result.stderr
    account.bootstrap = None
    refused = deploy("--json")
    assert (refused.exit_code, refused.stdout) == (1, "")


def test_with_json_the_output_of_cdk_goes_to_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run: Callable[[str], int] = lambda line: cdk.run(["sh", "-c", line], tmp_path, os.environ)  # noqa: E731 - it is short
    with steps(as_json=True):
        assert run("echo out; echo err >&2") == 0
    assert run("echo later") == 0
    assert capfd.readouterr() == ("later\n", "out\nerr\n")
