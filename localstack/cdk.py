"""Deployment to the local AWS, with the same `cdk` and the same app that deploy to an account.

Synthesis and deployment are skipped when none of their inputs has changed. The digest of the deployed inputs is stored
in the local AWS itself, so that it is kept and deleted together with the stacks.
"""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from layers.build import LayerBuildError, dependencies_layer
from localstack.home import ACCOUNT, REGION, ROOT, STAGE, Home, LocalStackError, clean_environment
from localstack.ministack_process import tail
from onthedot.cli.deploying.cdk import (
    bootstrap_arguments,
    cdk_command,
    cdk_environment,
    deploy_arguments,
    synth_arguments,
)

INPUTS = ("infra", "functions", "layers", "cdk.json", "requirements.lock", "package-lock.json")
NOTE = f"/onthedot/{STAGE}/deployed"
CDK_SECONDS = 600
# Each is a process. More processes than a laptop has cores would only make the first jobs wait for their start.
WORKER_CONCURRENCY = 20
LONG_CONCURRENCY = 2


def client(home: Home, service: str) -> Any:
    """Make a boto3 client of the local AWS that ignores the AWS settings of the host."""
    import boto3  # noqa: PLC0415 - heavy, and tests of this package mostly need none
    from botocore.config import Config  # noqa: PLC0415 - as above

    session = boto3.session.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - the local AWS takes any
        region_name=REGION,
    )
    config = Config(retries={"total_max_attempts": 3}, connect_timeout=5, read_timeout=120)
    return session.client(service, endpoint_url=home.endpoint_url, config=config)  # type: ignore[call-overload]


def inputs_digest(shards: int, root: Path = ROOT) -> str:
    digest = hashlib.sha256(f"{sys.version_info[:2]}:{shards}:{WORKER_CONCURRENCY}:{LONG_CONCURRENCY}".encode())
    for path in _input_files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root)}:{content}\n".encode())
    return digest.hexdigest()


def _input_files(root: Path) -> Iterator[Path]:
    for name in INPUTS:
        start = root / name
        candidates = [start] if start.is_file() else start.rglob("*")
        yield from sorted(p for p in candidates if p.is_file() and "__pycache__" not in p.parts)


def is_deployed(home: Home, digest: str) -> bool:
    """Return whether these inputs are deployed, according to the local AWS."""
    try:
        noted = client(home, "ssm").get_parameter(Name=NOTE)["Parameter"]["Value"]
    except ClientError:
        return False
    return bool(noted == digest)


def note_deployed(home: Home, digest: str) -> None:
    client(home, "ssm").put_parameter(Name=NOTE, Value=digest, Type="String", Overwrite=True)


def prepare(home: Home, shards: int, digest: str) -> None:
    """Bootstrap the local account and synthesize the stacks, side by side, if needed.

    Raise LocalStackError with the output of the command when one of them fails.
    """
    # Built here, and only used by the app: fetching packages needs the environment of the caller with its proxies.
    try:
        dependencies_layer(local=True)
    except LayerBuildError as error:
        raise LocalStackError(str(error)) from error
    steps = []
    if _needs_bootstrap(home):
        # Not in the repository: there, bootstrap would find the app and synthesize it first.
        steps.append(Cdk(home, *bootstrap_arguments(ACCOUNT, REGION), directory=home.data))
    stamp = home.assembly / ".digest"
    synthesize = not stamp.is_file() or stamp.read_text() != digest
    if synthesize:
        stamp.unlink(missing_ok=True)
        context = [f"stage={STAGE}", f"shards={shards}", "local=true"]
        context += [f"worker_concurrency={WORKER_CONCURRENCY}", f"long_concurrency={LONG_CONCURRENCY}"]
        steps.append(Cdk(home, *synth_arguments(home.assembly, context)))
    finish_all(steps)
    if synthesize:
        stamp.write_text(digest)


def deploy(home: Home) -> None:
    """Deploy every stack of the assembly. Raise LocalStackError with the output of CDK when it fails."""
    finish_all([Cdk(home, *deploy_arguments(home.assembly, directly=True))])


def _needs_bootstrap(home: Home) -> bool:
    try:
        client(home, "cloudformation").describe_stacks(StackName="CDKToolkit")
    except ClientError:
        return True
    return False


class Cdk:
    """One call of the `cdk` command, in its own process group, so that it can be killed with its children."""

    def __init__(self, home: Home, *arguments: str, directory: Path = ROOT) -> None:
        self._name = arguments[0]
        self._log = home.cdk_log(self._name)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                cdk_command(ROOT, *arguments),
                cwd=directory,
                env=local_cdk_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self) -> None:
        """Wait for the end. Raise LocalStackError when the command fails or takes too long."""
        try:
            code = self._process.wait(timeout=CDK_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise LocalStackError(f"cdk {self._name} took more than {CDK_SECONDS} s; see {self._log}") from error
        if code:
            raise LocalStackError(f"cdk {self._name} failed:\n{tail(self._log, 30)}\n(all of it: {self._log})")

    def end(self) -> None:
        """Kill the command if it still runs."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def finish_all(steps: list[Cdk]) -> None:
    """Wait for all of them. If one fails, or this process is interrupted, kill the others."""
    try:
        for step in steps:
            step.finish()
    finally:
        for step in steps:
            step.end()


def local_cdk_environment(home: Home) -> dict[str, str]:
    """Return an environment with dummy credentials and the local AWS as the endpoint, without those of the host."""
    environment = clean_environment(
        home,
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - the local AWS takes any
        AWS_REGION=REGION,
        CDK_DEFAULT_ACCOUNT=ACCOUNT,
        CDK_DEFAULT_REGION=REGION,
        NO_COLOR="1",
    )
    return cdk_environment(ROOT, environment, home.endpoint_url)
