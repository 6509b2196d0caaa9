"""Calls of the `cdk` command of a clone: its arguments, its environment and its process.

`make up` deploys to the local AWS with the same calls.
"""

import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from onthedot.cli.stacks import installed, with_tools

PROGRAM: Final = "node_modules/.bin/cdk"
ENDPOINT: Final = "AWS_ENDPOINT_URL"
AT_A_TIME: Final = 4
"""Stacks that are deployed side by side. Most of them wait for the table and the queues only."""


def cdk_command(root: Path, *arguments: str) -> list[str]:
    """Return the command line of one call. Raise click.ClickException when `cdk` is not installed."""
    return [str(installed(root, PROGRAM)), *arguments, "--ci", "--no-notices"]


def cdk_environment(root: Path, outer: Mapping[str, str], endpoint_url: str | None) -> dict[str, str]:
    endpoint = {} if endpoint_url is None else {ENDPOINT: endpoint_url, f"{ENDPOINT}_S3": endpoint_url}
    return {
        **with_tools(root, dict(outer)),
        **endpoint,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        # Unpacking the CDK library takes longer than synthesis, so all calls share it.
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(root / "build" / "jsii-cache"),
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "true",
    }


def bootstrap_arguments(account: str, region: str) -> list[str]:
    return ["bootstrap", f"aws://{account}/{region}"]


def synth_arguments(assembly: Path, context: Iterable[str]) -> list[str]:
    values = [part for value in context for part in ("-c", value)]
    return ["synth", "--quiet", "--output", str(assembly), *values]


def deploy_arguments(assembly: Path, *, directly: bool, others: Sequence[str] = ()) -> list[str]:
    """Return the arguments that deploy all stacks of a directory. `others` are the user's and replace ours.

    The local AWS needs no change sets: `directly` leaves them out.
    """
    ours = {
        "--require-approval": "never",
        "--concurrency": str(AT_A_TIME),
        "--progress": "events",
        **({"--method": "direct"} if directly else {}),
    }
    given = {option.partition("=")[0] for option in others}
    kept = [part for name, value in ours.items() if name not in given for part in (name, value)]
    return ["deploy", "--app", str(assembly), "--all", *kept, *others]


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> int:
    """Run a call to its end on this terminal, and return its exit code.

    While `--json` sends the steps to stderr, the call's output goes there too. If this process is interrupted or ended
    by SIGTERM, the call is ended too, and waited for.
    """
    output = 2 if sys.stdout is sys.stderr else None
    # By default, SIGTERM would end this process at once and leave its child.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with subprocess.Popen(command, cwd=directory, env=dict(environment), stdout=output) as process:
            try:
                return process.wait()
            except BaseException:
                process.terminate()
                raise
    finally:
        signal.signal(signal.SIGTERM, before)


def api_url_of(outputs: Mapping[str, Any], endpoint_url: str | None) -> str:
    """Return the URL before the paths of the API, without a slash at the end.

    At a substitute for AWS it is the form with the path: the form with the host would need a name server for it.
    """
    url = str(outputs["ApiUrl"]).rstrip("/")
    if endpoint_url is None:
        return url
    stage = urlsplit(url).path.strip("/")
    return f"{endpoint_url.rstrip('/')}/restapis/{outputs['ApiId']}/{stage}/_user_request_"
