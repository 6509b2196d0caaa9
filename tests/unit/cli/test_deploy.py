"""`onthedot bootstrap` and `onthedot deploy`: checks of the account, the calls of `cdk`, and the last lines."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from botocore.exceptions import EndpointConnectionError
from click.testing import CliRunner, Result

from onthedot.cli import tokens_place
from onthedot.cli.common.result import steps
from onthedot.cli.deploying import account as account_facts
from onthedot.cli.deploying import cdk
from onthedot.cli.deploying import deploy as deploy_module
from onthedot.cli.deploying.cdk import cdk_command, cdk_environment, deploy_arguments
from onthedot.cli.deploying.place import is_this_machine, set_account
from onthedot.cli.deploying.result import api_url_of, console_url_of
from onthedot.cli.main import main
from onthedot.cli.tokens_place import NewToken
from tests.unit.cli.fake_account import (
    ACCOUNT,
    ARN,
    FakeAccount,
    FakeClone,
    assembly,
    fake_clone,
    no_credentials,
    refusal,
    use_fakes,
)

LOCAL = "http://127.0.0.1:4566"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    made = FakeAccount()
    use_fakes(monkeypatch, made)
    return made


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClone:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(deploy_module, "console_url_of", lambda _url: None)
    return fake_clone(tmp_path, sys.executable)


class FakeTokens:
    """The tokens of a stage."""

    def __init__(self) -> None:
        self.made: list[NewToken] = []
        self.there: list[dict[str, Any]] = []

    def create(self, new: NewToken) -> dict[str, Any]:
        self.made.append(new)
        return {"token": "otd_secret", "id": "tok_1"}

    def all(self, tenant: str | None) -> Iterator[dict[str, Any]]:
        assert tenant is None
        return iter(self.there)


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> FakeTokens:
    made = FakeTokens()
    monkeypatch.setattr(deploy_module, "tokens_of_stage", {"dev": made}.__getitem__)
    return made


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(main, list(arguments), **options)


def line_of(result: Result, name: str) -> str:
    """The line of the check with this name."""
    [line] = [line for line in result.output.splitlines() if line[2:].startswith(f"{name} ")]
    return line


def test_a_deployment_checks_the_account_then_runs_cdk_then_names_the_api(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 0, result.output
    assert line_of(result, "region") == "✓ region       eu-west-1"
    assert line_of(result, "credentials") == f"✓ credentials  {ARN} of account {ACCOUNT}"
    assert line_of(result, "bootstrap").startswith("✓")
    assert line_of(result, "templates") == "✓ templates    onthedot-dev-api"
    assert line_of(result, "concurrency").endswith("Lambda runs 1,000 calls at a time, and the queues make up to 129")
    assert [call["arguments"][0] for call in clone.calls()] == ["synth", "deploy"]
    assert "API      https://abc.execute-api.eu-west-1.amazonaws.com/dev\n" in result.output


def test_stage_and_context_go_to_the_synthesis_and_other_options_to_the_deployment(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = run(
        "deploy", "--stage", "dev", "-c", "shards=8", "--hotswap", "-c", "history_days=14", "--role-arn", "arn:x"
    )
    assert result.exit_code == 0, result.output
    synth, deployed = clone.arguments("synth"), clone.arguments("deploy")
    assert synth[4:-2] == ["-c", "stage=dev", "-c", "shards=8", "-c", "history_days=14"]
    assert deployed[-5:-2] == ["--hotswap", "--role-arn", "arn:x"]
    assert "-c" not in deployed
    assert deployed[deployed.index("--app") + 1] == synth[synth.index("--output") + 1]
    assert deployed[deployed.index("--require-approval") + 1] == "never"


def test_without_a_terminal_nothing_is_asked(account: FakeAccount, clone: FakeClone) -> None:
    """The runner's input is no terminal and is empty: a question would end the command."""
    assert run("deploy", "--stage", "dev", input="").exit_code == 0


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch, tokens: FakeTokens) -> FakeTokens:
    monkeypatch.setattr(deploy_module, "has_terminal", lambda: True)
    return tokens


@pytest.mark.parametrize(("answer", "deployed"), [("y\n", True), ("n\n", False)])
def test_at_a_terminal_it_asks_once_with_stage_account_and_region(
    account: FakeAccount, clone: FakeClone, at_a_terminal: FakeTokens, answer: str, deployed: bool
) -> None:
    at_a_terminal.there = [{"id": "tok_0"}]
    result = run("deploy", "--stage", "dev", input=answer)
    assert f"Deploy stage dev to account {ACCOUNT} in eu-west-1?" in result.output
    assert ("deploy" in [call["arguments"][0] for call in clone.calls()]) is deployed
    assert (result.exit_code == 0) is deployed


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (no_credentials(), "Unable to locate credentials"),
        (refusal("ExpiredToken", "The security token is expired"), "The security token is expired"),
        (EndpointConnectionError(endpoint_url="https://sts"), "https://sts"),
    ],
)
def test_credentials_that_aws_does_not_accept(
    account: FakeAccount, clone: FakeClone, error: Exception, said: str
) -> None:
    account.identity = error
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 1
    assert line_of(result, "credentials").startswith("✗")
    assert said in line_of(result, "credentials")
    assert "nothing was changed" in result.output
    assert clone.calls() == []


def test_without_a_region_nothing_begins(clone: FakeClone, monkeypatch: pytest.MonkeyPatch) -> None:
    use_fakes(monkeypatch, FakeAccount(), region=None)
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 1
    assert line_of(result, "region") == "✗ region       no region is chosen: give --region, or set AWS_REGION"
    assert clone.calls() == []


@pytest.mark.parametrize(("version", "said"), [(None, "CDK has no bootstrap in eu-west-1"), (5, "has version 5")])
def test_an_account_without_bootstrap_is_told_before_anything_is_built(
    account: FakeAccount, clone: FakeClone, version: int | None, said: str
) -> None:
    account.bootstrap = version
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 1
    assert said in line_of(result, "bootstrap")
    assert "run `onthedot bootstrap`" in line_of(result, "bootstrap")
    assert clone.calls() == []


def test_a_new_accounts_concurrency_is_refused_with_both_ways_out(account: FakeAccount, clone: FakeClone) -> None:
    account.concurrency = 10
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 1
    line = line_of(result, "concurrency")
    assert line.startswith("✗ concurrency  Lambda runs at most 10 calls at a time here")
    assert "up to 129" in line
    assert "L-B99A9384" in line
    assert "-c worker_concurrency=6" in line
    assert [call["arguments"][0] for call in clone.calls()] == ["synth"]


def test_a_limit_that_is_just_enough_passes(account: FakeAccount, clone: FakeClone) -> None:
    account.concurrency = 129
    assert run("deploy", "--stage", "dev").exit_code == 0


def test_facts_that_the_credentials_may_not_read_do_not_stop_the_deployment(
    account: FakeAccount, clone: FakeClone
) -> None:
    account.bootstrap = refusal("AccessDeniedException", "not allowed to read parameters")
    account.concurrency = refusal("AccessDeniedException", "not allowed to read settings")
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 0
    assert line_of(result, "bootstrap").startswith("? bootstrap    cannot be checked")
    assert "not allowed to read settings" in line_of(result, "concurrency")


@pytest.mark.parametrize(("fargate", "tasks", "passes"), [(6.0, 3, True), (6.0, 4, False), (None, 3, True)])
def test_fargate_pools_are_compared_with_the_accounts_cpus(
    account: FakeAccount, clone: FakeClone, fargate: float | None, tasks: int, passes: bool
) -> None:
    account.fargate = fargate
    clone.will_synthesize(assembly(tasks=tasks))
    result = run("deploy", "--stage", "dev")
    assert line_of(result, "Fargate").startswith("✓" if passes else "✗")
    assert f"{2 * tasks}" in line_of(result, "Fargate")
    assert (result.exit_code == 0) is passes


@pytest.mark.parametrize("there", [True, False])
def test_fargate_pools_need_the_role_that_ecs_makes_too_late_for_its_first_cluster(
    account: FakeAccount, clone: FakeClone, there: bool
) -> None:
    account.roles = {"AWSServiceRoleForECS"} if there else set()
    assert "ECS" not in run("deploy", "--stage", "dev").output
    clone.will_synthesize(assembly(tasks=1))
    result = run("deploy", "--stage", "dev")
    assert line_of(result, "ECS").startswith("✓" if there else "✗")
    assert ("aws iam create-service-linked-role" in line_of(result, "ECS")) is not there
    assert (result.exit_code == 0) is there


@pytest.mark.parametrize("answers", [True, False])
def test_docker_is_needed_for_images_only(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr(account_facts, "docker_answers", lambda: answers)
    assert "Docker" not in run("deploy", "--stage", "dev").output
    clone.will_synthesize(assembly(images=True))
    result = run("deploy", "--stage", "dev")
    assert line_of(result, "Docker").startswith("✓" if answers else "✗")
    assert (result.exit_code == 0) is answers


def test_all_failures_are_shown_together(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_facts, "docker_answers", lambda: False)
    account.concurrency = 10
    clone.will_synthesize(assembly(images=True, tasks=4))
    result = run("deploy", "--stage", "dev")
    assert [line_of(result, name)[0] for name in ("concurrency", "Fargate", "Docker")] == ["✗", "✗", "✗"]


def test_docker_that_is_not_there_hangs_or_fails_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    monkeypatch.setenv("CDK_DOCKER", str(program))
    assert not account_facts.docker_answers()
    for body, answers in (("exit 0", True), ("exit 1", False), ("sleep 20", False)):
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setattr(account_facts, "DOCKER_SECONDS", 0.5)
        assert account_facts.docker_answers() is answers


def test_a_wrong_context_value_ends_the_command_with_the_message_of_the_app(
    account: FakeAccount, clone: FakeClone
) -> None:
    clone.will_fail("synth", "CDK context shard='3': is not a context value of onthedot; did you mean shards?")
    result = run("deploy", "--stage", "dev", "-c", "shard=3")
    assert result.exit_code == 1
    assert line_of(result, "templates").startswith("✗")
    assert "did you mean shards?" in result.output
    assert [call["arguments"][0] for call in clone.calls()] == ["synth"]


def test_a_deployment_that_fails_ends_with_the_exit_code_of_cdk(account: FakeAccount, clone: FakeClone) -> None:
    clone.will_fail("deploy", "the table exists already")
    result = run("deploy", "--stage", "dev")
    assert result.exit_code == 3
    assert "the deployment failed" in result.output
    assert "is deployed" not in result.output


@pytest.mark.parametrize("name", ["Prod", "../x", "", "a" * 21, "1st"])
@pytest.mark.parametrize("command", ["deploy", "destroy"])
def test_a_name_that_no_stage_can_have_is_refused(
    account: FakeAccount, clone: FakeClone, command: str, name: str
) -> None:
    result = run(command, "--stage", name)
    assert result.exit_code == 2
    assert "is no name of a stage" in result.output
    assert clone.calls() == []


def test_a_context_value_decides_the_region_and_must_agree_with_the_option(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = run("deploy", "--stage", "dev", "-c", "region=us-west-2")
    assert line_of(result, "region").endswith("us-west-2")
    assert {call["environment"]["AWS_REGION"] for call in clone.calls()} == {"us-west-2"}
    result = run("deploy", "--stage", "dev", "-c", "region=us-west-2", "--region", "eu-west-1")
    assert result.exit_code == 2


@pytest.mark.parametrize(("wanted", "sign"), [(ACCOUNT, "✓"), ("999999999999", "✗")])
def test_a_context_value_names_the_account(account: FakeAccount, clone: FakeClone, wanted: str, sign: str) -> None:
    result = run("deploy", "--stage", "dev", "-c", f"account={wanted}")
    assert line_of(result, "account")[0] == sign
    assert bool(clone.calls()) is (sign == "✓")


def test_an_endpoint_on_this_machine_gets_layers_for_this_machine_and_no_change_sets(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = run("deploy", "--stage", "dev", "--endpoint-url", LOCAL)
    assert result.exit_code == 0
    synth, deployed = clone.calls()
    assert "local=true" in synth["arguments"]
    assert deployed["arguments"][deployed["arguments"].index("--method") + 1] == "direct"
    for call in (synth, deployed):
        assert call["environment"]["AWS_ENDPOINT_URL"] == call["environment"]["AWS_ENDPOINT_URL_S3"] == LOCAL
    assert f"API      {LOCAL}/restapis/abc/dev/_user_request_\n" in result.output


def test_the_endpoint_may_come_from_the_environment(
    account: FakeAccount, clone: FakeClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://aws.example")
    assert run("deploy", "--stage", "dev").exit_code == 0
    synth, deployed = clone.calls()
    assert synth["environment"]["AWS_ENDPOINT_URL_S3"] == "https://aws.example"
    assert "local=true" not in synth["arguments"]
    assert "--method" not in deployed["arguments"]


def test_without_an_endpoint_cdk_gets_none(account: FakeAccount, clone: FakeClone) -> None:
    assert run("deploy", "--stage", "dev").exit_code == 0
    assert {call["environment"]["AWS_ENDPOINT_URL"] for call in clone.calls()} == {None}


def test_an_endpoint_that_is_no_url_is_refused(account: FakeAccount, clone: FakeClone) -> None:
    result = run("deploy", "--stage", "dev", "--endpoint-url", "127.0.0.1:4566")
    assert result.exit_code == 2
    assert "is no URL" in result.output


@pytest.mark.parametrize(
    ("url", "local"),
    [
        (LOCAL, True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("https://aws.example", False),
        (None, False),
    ],
)
def test_the_loopback_addresses_are_this_machine(url: str | None, local: bool) -> None:
    assert is_this_machine(url) is local


def test_a_profile_takes_the_place_of_keys_and_region() -> None:
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "eu-west-1", "HOME": "/x"}
    set_account(environment, profile="me", region=None, endpoint_url=None)
    assert environment == {"AWS_PROFILE": "me", "HOME": "/x"}


def test_both_names_of_the_region_are_set() -> None:
    environment = {"AWS_DEFAULT_REGION": "eu-west-1"}
    set_account(environment, profile=None, region=None, endpoint_url=None)
    assert environment == {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}
    set_account(environment, profile=None, region="us-west-2", endpoint_url=LOCAL)
    assert environment == dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-west-2") | {"AWS_ENDPOINT_URL": LOCAL}


def test_the_users_options_replace_ours() -> None:
    arguments = deploy_arguments(Path("out"), directly=True, others=["--require-approval", "any", "--concurrency=1"])
    assert arguments.count("--require-approval") == 1
    assert "--concurrency" not in arguments
    assert arguments[-3:] == ["--require-approval", "any", "--concurrency=1"]


def test_a_clone_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="run `make install` there once"):
        cdk_command(tmp_path, "deploy")


def test_the_clones_programs_come_first(tmp_path: Path) -> None:
    environment = cdk_environment(tmp_path, {"PATH": "/usr/bin", "HOME": "/x"}, None)
    assert environment["PATH"] == f"{tmp_path}/.venv/bin:/usr/bin"
    assert environment["HOME"] == "/x"
    assert "AWS_ENDPOINT_URL" not in environment


def test_the_form_of_the_apis_url() -> None:
    outputs = {"ApiUrl": "https://abc.execute-api.eu-west-1.amazonaws.com/dev/", "ApiId": "abc"}
    assert api_url_of(outputs, None) == "https://abc.execute-api.eu-west-1.amazonaws.com/dev"
    assert api_url_of(outputs, f"{LOCAL}/") == f"{LOCAL}/restapis/abc/dev/_user_request_"


def test_a_console_that_does_not_answer_is_not_named() -> None:
    assert console_url_of("http://127.0.0.1:1") is None


def test_bootstrap_prepares_the_account_of_the_credentials_outside_of_the_clone(
    account: FakeAccount, clone: FakeClone
) -> None:
    result = run("bootstrap", "--region", "us-west-2", "--tags", "a=b")
    assert result.exit_code == 0, result.output
    [call] = clone.calls()
    assert call["arguments"][:4] == ["bootstrap", f"aws://{ACCOUNT}/us-west-2", "--tags", "a=b"]
    assert not Path(call["at"]).is_relative_to(clone.root)
    assert "Next: AWS_REGION=us-west-2 onthedot deploy --stage" in result.output


def test_bootstrap_fails_with_cdk_and_without_credentials(account: FakeAccount, clone: FakeClone) -> None:
    clone.will_fail("bootstrap", "denied")
    assert run("bootstrap").exit_code == 1
    account.identity = no_credentials()
    result = run("bootstrap")
    assert result.exit_code == 1
    assert line_of(result, "credentials").startswith("✗")
    assert len(clone.calls()) == 1


def test_an_interrupted_command_leaves_no_cdk_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onthedot.cli.deploying import cdk

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


def test_without_a_token_the_command_for_one_is_the_next_step(account: FakeAccount, clone: FakeClone) -> None:
    result = run("deploy", "--stage", "dev")
    command = "onthedot tokens create --stage dev --tenant TENANT --role operator --name NAME"
    assert result.output.endswith(f"Next     {command}\n")


def test_the_next_step_works_on_the_account_and_region_of_the_options(
    account: FakeAccount, clone: FakeClone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (profiles := tmp_path / "profiles").write_text('[profile "my team"]\n')
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profiles))
    result = run("deploy", "--stage", "dev", "--profile", "my team", "--region", "us-east-2")
    assert "Next     AWS_PROFILE='my team' AWS_REGION=us-east-2 onthedot tokens create --stage dev " in result.output
    result = run("deploy", "--stage", "dev", "-c", "region=us-east-2")
    assert "Next     AWS_REGION=us-east-2 onthedot tokens create --stage dev " in result.output


def test_every_command_finds_the_region_that_deploy_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 reads only AWS_DEFAULT_REGION, and the AWS command line prefers AWS_REGION."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    seen: list[str | None] = []

    def tokens_of_stage(_stage: str) -> FakeTokens:
        seen.append(account_facts.region())
        return FakeTokens()

    monkeypatch.setattr(tokens_place, "tokens_of_stage", tokens_of_stage)
    create = ["tokens", "create", "--stage", "dev", "--tenant", "acme", "--role", "operator", "--name", "ada"]
    assert run(*create).output == "otd_secret\n"
    assert seen == ["eu-west-3"]


def test_the_token_of_the_option_is_made_and_shown(account: FakeAccount, clone: FakeClone, tokens: FakeTokens) -> None:
    result = run("deploy", "--stage", "dev", "--token", "acme:operator:ada")
    assert tokens.made == [NewToken("acme", "operator", "ada", None)]
    assert "Token    otd_secret\n" in result.output
    assert "Next " not in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acme", "is not TENANT:ROLE:NAME"),
        ("acme:operator", "is not TENANT:ROLE:NAME"),
        ("acme:boss:ada", "role: is not one of the roles"),
        (":operator:ada", "tenant: "),
        ("onthedot:operator:ada", "tenant: onthedot is reserved"),
    ],
)
def test_a_token_that_cannot_be_made_is_refused_before_anything_runs(
    account: FakeAccount, clone: FakeClone, text: str, said: str
) -> None:
    result = run("deploy", "--stage", "dev", "--token", text)
    assert result.exit_code == 2
    assert said in result.output
    assert clone.calls() == []


def test_no_token_is_made_when_the_deployment_fails(account: FakeAccount, clone: FakeClone, tokens: FakeTokens) -> None:
    clone.will_fail("deploy", "no")
    assert run("deploy", "--stage", "dev", "--token", "acme:operator:ada").exit_code == 3
    assert tokens.made == []


def test_at_a_terminal_the_first_token_is_offered(
    account: FakeAccount, clone: FakeClone, at_a_terminal: FakeTokens
) -> None:
    result = run("deploy", "--stage", "dev", input="y\ny\nacme\nadmin\neve\n")
    assert result.exit_code == 0, result.output
    assert at_a_terminal.made == [NewToken("acme", "admin", "eve", None)]
    assert "otd_secret" in result.output


@pytest.mark.parametrize(("there", "answers"), [([{"id": "tok_0"}], "y\n"), ([], "y\nn\n")])
def test_no_token_is_made_for_a_stage_that_has_one_or_a_user_who_wants_none(
    account: FakeAccount, clone: FakeClone, at_a_terminal: FakeTokens, there: list[dict[str, Any]], answers: str
) -> None:
    at_a_terminal.there = there
    result = run("deploy", "--stage", "dev", input=answers)
    assert result.exit_code == 0
    assert at_a_terminal.made == []
    assert "Next     onthedot tokens create" in result.output


def test_yes_asks_nothing_at_a_terminal(account: FakeAccount, clone: FakeClone, at_a_terminal: FakeTokens) -> None:
    result = run("deploy", "--stage", "dev", "--yes", input="")
    assert result.exit_code == 0
    assert "?" not in result.output


def test_json_has_the_urls_the_stacks_and_the_token(account: FakeAccount, clone: FakeClone, tokens: FakeTokens) -> None:
    result = run("deploy", "--stage", "dev", "--yes", "--token", "acme:operator:ada", "--json")
    done = json.loads(result.stdout)
    assert (done["action"], done["stage"], done["account"]) == ("deploy", "dev", ACCOUNT)
    assert done["api_url"].startswith("https://")
    assert done["stacks"]
    assert done["token"] == {"token": "otd_secret", "id": "tok_1"}
    assert "Stage dev is deployed." in result.stderr


def test_json_of_a_bootstrap_names_the_account(account: FakeAccount, clone: FakeClone) -> None:
    result = run("bootstrap", "--region", "eu-west-1", "--json")
    assert json.loads(result.stdout) == {"action": "bootstrap", "account": ACCOUNT, "region": "eu-west-1"}
    assert "is ready in eu-west-1" in result.stderr


def test_json_of_a_refused_deployment_is_nothing(account: FakeAccount, clone: FakeClone) -> None:
    account.bootstrap = None
    result = run("deploy", "--stage", "dev", "--json")
    assert (result.exit_code, result.stdout) == (1, "")


def test_with_json_the_output_of_cdk_goes_to_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with steps(as_json=True):
        assert cdk.run(["sh", "-c", "echo out; echo err >&2"], tmp_path, os.environ) == 0
    assert cdk.run(["sh", "-c", "echo later"], tmp_path, os.environ) == 0
    assert capfd.readouterr() == ("later\n", "out\nerr\n")
