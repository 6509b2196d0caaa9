"""`onthedot worker` finds its work by its options and its environment, and refuses options that cannot work."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from onthedot.cli import worker as worker_module
from onthedot.cli.worker import ChosenSource, choose_source
from onthedot.worker.rest_source import RestWorkSource
from onthedot.worker.runtime import Runtime
from onthedot.worker.task_protection import EcsAgent
from tests.unit.cli.conftest import invoke, local_stack
from tests.unit.worker.world import a_passing_world, serving

SETTINGS = {
    "ONTHEDOT_STAGE": "test",
    "ONTHEDOT_TABLE": "jobs",
    "ONTHEDOT_SHARDS": "2",
    "ONTHEDOT_LOOKAHEAD": "3",
    "ONTHEDOT_HISTORY_DAYS": "30",
    "ONTHEDOT_BACKLOG_LIMIT": "1000",
    "ONTHEDOT_QUEUE_BASE": "http://q/",
    "ONTHEDOT_POOLS": "[]",
    "ONTHEDOT_BLOB_BUCKET": "blobs",
    "ONTHEDOT_ALLOW_LIST": '{"functions": [], "calls": []}',
}


@pytest.fixture(autouse=True)
def _aws_credentials_of_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Restore the logging that the command sets up for its process, which is the test's process here."""
    root, ours = logging.getLogger(), logging.getLogger("onthedot")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


API = ["--url", "https://api.example.com", "--token", "t"]
LOCAL = {"api_url": "http://127.0.0.1:4566/local", "token": "otd_local", "endpoint_url": "http://127.0.0.1:1"}


def source_of(**options: Any) -> ChosenSource:
    return choose_source("pull", **{"url": None, "token": None, "direct": False, "stage": None, **options})


def worker(*arguments: str) -> Result:
    return invoke("worker", *arguments)


def test_a_url_and_a_token_of_the_environment_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONTHEDOT_URL", "https://api.example.com/prod")
    monkeypatch.setenv("ONTHEDOT_TOKEN", "otd_secret")
    found = source_of()
    assert isinstance(found.source, RestWorkSource)
    assert (found.name, found.allow_private) == ("https://api.example.com/prod", False)
    assert "ONTHEDOT_TOKEN" not in os.environ, "programs that a worker starts do not inherit it"


def test_settings_in_the_environment_make_a_direct_worker_unless_a_url_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    found = source_of()
    assert type(found.source).__name__ == "DirectWorkSource"
    assert found.engine is not None
    assert found.name == "table jobs"
    monkeypatch.setenv("ONTHEDOT_URL", "https://other.example.com")
    assert source_of(url="https://api.example.com", token="t").name == "https://api.example.com"


def test_otherwise_it_is_the_local_stack_which_may_be_called_back(tmp_path: Path) -> None:
    local_stack(tmp_path, **LOCAL)
    found = source_of()
    assert isinstance(found.source, RestWorkSource)
    assert (found.name, found.allow_private) == ("http://127.0.0.1:4566/local", True)


@dataclass
class CloudFormation:
    """A CloudFormation with one stack. It keeps the name and the endpoint of each call."""

    outputs: dict[str, str]
    calls: list[tuple[str, str | None]] = field(default_factory=list)

    def describe_stacks(self, **request: str) -> Any:
        self.calls.append((request["StackName"], os.environ.get("AWS_ENDPOINT_URL")))
        return {"Stacks": [{"Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in self.outputs.items()]}]}

    def deployed(self, monkeypatch: pytest.MonkeyPatch) -> "CloudFormation":
        from onthedot.wiring import aws

        others = aws.client
        monkeypatch.setattr(
            aws, "client", lambda service, **how: self if service == "cloudformation" else others(service, **how)
        )
        return self


@pytest.mark.parametrize(
    ("stage", "asked"),
    [(None, ("onthedot-local-workers", "http://127.0.0.1:1")), ("prod", ("onthedot-prod-workers", None))],
)
def test_a_direct_worker_reads_its_settings_from_the_deployed_stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: str | None, asked: tuple[str, str | None]
) -> None:
    local_stack(tmp_path, **LOCAL)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "")  # monkeypatch restores it after the test
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    stacks = CloudFormation({"WorkerEnvironment": json.dumps(SETTINGS)}).deployed(monkeypatch)
    found = source_of(direct=True, stage=stage)
    assert stacks.calls == [asked]
    assert type(found.source).__name__ == "DirectWorkSource"
    assert found.name == "table jobs"


@pytest.mark.parametrize(("chosen", "expected"), [(None, "arn:of:the:stage"), ("arn:of:mine", "arn:of:mine"), ("", "")])
def test_a_direct_worker_takes_the_stages_role_for_jobs_calls_unless_it_is_told(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, expected: str
) -> None:
    told = {**SETTINGS, "ONTHEDOT_CALLS_ROLE": "arn:of:the:stage"}
    CloudFormation({"WorkerEnvironment": json.dumps(told)}).deployed(monkeypatch)
    if chosen is not None:
        monkeypatch.setenv("ONTHEDOT_CALLS_ROLE", chosen)
    assert source_of(direct=True, stage="prod").calls_role == expected


def test_a_stack_without_settings_must_be_deployed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    CloudFormation({}).deployed(monkeypatch)
    result = worker("--direct", "--stage", "old")
    assert result.exit_code == 1
    assert "onthedot-old-workers has no output WorkerEnvironment; deploy it again" in result.output


def test_options_that_cannot_work_are_refused_by_name() -> None:
    for arguments, named in (
        ([], "--url"),
        (API[:2], "token"),
        (["--stage", "prod"], "--direct"),
        (["--direct", *API[:2]], "--direct"),
        ([*API, "--aws"], "--direct"),
        ([*API, "--shell", "--app", "no.app"], "ONTHEDOT_TOKEN"),
        ([*API, "--app", "no.such.module"], "no.such.module"),
        ([*API, "--app", "json"], "marks no handler"),
    ):
        result = worker(*arguments)
        assert (result.exit_code != 0, named in result.output) == (True, True), result.output


def test_settings_that_do_not_parse_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SETTINGS, "ONTHEDOT_SHARDS": "two"}.items():
        monkeypatch.setenv(name, value)
    result = worker()
    assert result.exit_code == 1
    assert "ONTHEDOT_SHARDS" in result.output


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The offer and the agent of each worker that is made. None of them runs."""
    found: list[tuple[Any, Any]] = []

    class Recorded(Runtime):
        def __init__(self, source: Any, target: Any, offer: Any, *parts: Any, agent: Any, **others: Any) -> None:
            found.append((offer, agent))
            super().__init__(source, target, offer, *parts, agent=agent, **others)

    monkeypatch.setattr(worker_module, "Runtime", Recorded)
    monkeypatch.setattr(worker_module, "run_until_stopped", lambda _runtime: None)
    return found


@pytest.mark.parametrize(("arguments", "offered"), [((), 750), (("--storage-mb", "12"), 12)])
def test_the_storage_is_the_smaller_disk_unless_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: list[Any], arguments: tuple[str, ...], offered: int
) -> None:
    free = {tmp_path: 900, Path(tempfile.gettempdir()): 750}
    disks = {place: shutil._ntuple_diskusage(2**40, 0, megabytes * 2**20) for place, megabytes in free.items()}
    monkeypatch.setattr(shutil, "disk_usage", disks.__getitem__)
    assert worker(*API, *arguments).exit_code == 0
    assert [offer.resources.storage_mb for offer, _ in made] == [offered]


@pytest.mark.parametrize(
    ("direct", "uri", "protects"), [(True, "http://agent", True), (True, None, False), (False, "http://agent", False)]
)
def test_a_task_on_ecs_protects_itself_if_it_has_a_role_for_it(
    monkeypatch: pytest.MonkeyPatch, made: list[Any], direct: bool, uri: str | None, protects: bool
) -> None:
    """The role of a task that works over REST has no grants."""
    monkeypatch.delenv("ECS_AGENT_URI", raising=False)
    for name, value in {**SETTINGS, **({} if uri is None else {"ECS_AGENT_URI": uri})}.items():
        monkeypatch.setenv(name, value)
    assert worker(*(["--direct"] if direct else API)).exit_code == 0
    assert [isinstance(agent, EcsAgent) for _, agent in made] == [protects]


@pytest.mark.parametrize(("uri", "waits"), [("http://agent", [worker_module.REFUSED_SECONDS]), (None, [])])
def test_a_refused_worker_on_ecs_waits_before_it_ends(
    monkeypatch: pytest.MonkeyPatch, uri: str | None, waits: list[float]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(worker_module, "wait_or_stop", waited.append)
    monkeypatch.delenv("ECS_AGENT_URI", raising=False)
    if uri is not None:
        monkeypatch.setenv("ECS_AGENT_URI", uri)
    with a_passing_world() as world, serving(world) as server:
        result = worker("--url", server.url, "--token", "wrong-but-secret")
    assert (result.exit_code, waited) == (1, waits)
    assert "the token is not valid" in result.output
    assert "wrong-but-secret" not in result.output


WAITS = """
import time
from onthedot.cli.process import wait_or_stop
real_sleep = time.sleep
def sleep(seconds):
    print("waits", flush=True)
    real_sleep(seconds)
time.sleep = sleep
wait_or_stop(60)
"""


def test_a_waiting_worker_ends_at_the_first_signal_even_as_the_first_process() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 1, "a handler ended it, not the signal, which the first process would ignore"
