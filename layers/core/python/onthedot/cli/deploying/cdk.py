"""Calls of the `cdk` command of a clone: its arguments, its environment and its process.

`make up` deploys to the local AWS with the same calls.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, NoReturn

from onthedot.cli.clone import installed, with_tools
from onthedot.cli.common.result import goes_to_stderr
from onthedot.cli.deploying.place import ENDPOINT

PROGRAM: Final = "node_modules/.bin/cdk"
_STDERR: Final = 2
"""The number of the file."""
AT_A_TIME: Final = 4
"""Stacks that are deployed side by side. Most of them wait for the table and the queues only."""


def cdk_command(root: Path, *arguments: str) -> list[str]:
    """Return the command line of one call. Raise click.ClickException when `cdk` is not installed."""
    return [str(installed(root, PROGRAM)), *arguments, "--ci", "--no-notices"]


def cdk_environment(root: Path, outer: Mapping[str, str], endpoint_url: str | None) -> dict[str, str]:
    """Return the environment of a call, with the endpoint if there is one."""
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
    """Return the arguments that prepare an account and region."""
    return ["bootstrap", f"aws://{account}/{region}"]


def synth_arguments(assembly: Path, context: Iterable[str]) -> list[str]:
    """Return the arguments that write the templates and assets of a stage into a directory."""
    values = [part for value in context for part in ("-c", value)]
    return ["synth", "--quiet", "--output", str(assembly), *values]


def deploy_arguments(assembly: Path, *, directly: bool, others: Sequence[str] = ()) -> list[str]:
    """Return the arguments that deploy all stacks of a directory. `others` are the user's and come before ours.

    The local AWS needs no change sets: `directly` leaves them out.
    """
    ours = {
        "--require-approval": "never",
        "--concurrency": str(AT_A_TIME),
        "--progress": "events",
        **({"--method": "direct"} if directly else {}),
    }
    kept = [part for name, value in ours.items() if not _is_given(name, others) for part in (name, value)]
    return ["deploy", "--app", str(assembly), "--all", *kept, *others]


def _is_given(name: str, options: Sequence[str]) -> bool:
    return any(option == name or option.startswith(f"{name}=") for option in options)


def run(
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    log: Path | None = None,
    said: Callable[[str], None] | None = None,
) -> int:
    """Run a call to its end and return its exit code. Its output goes to the terminal, into the log, or to `said`.

    `said` gets each line, without its end. If this process is interrupted or ended by SIGTERM, the call is ended too,
    and waited for.
    """
    place = subprocess.PIPE if said is not None else _STDERR if goes_to_stderr() else None
    with (
        nullcontext() if log is None else log.open("wb") as output,
        _signal_raised(signal.SIGTERM),
        subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL if log is not None else None,
            stdout=place if output is None else output,
            stderr=None if output is None and said is None else subprocess.STDOUT,
        ) as process,
    ):
        try:
            if said is not None and process.stdout is not None:
                for line in process.stdout:
                    said(line.decode(errors="replace").rstrip("\r\n"))
            return process.wait()
        except BaseException:
            process.terminate()
            raise


@contextmanager
def _signal_raised(number: signal.Signals) -> Iterator[None]:
    """Raise SystemExit in the block when the signal comes, which would end this process at once and leave its child."""

    def end(*_: object) -> NoReturn:
        sys.exit(128 + number)

    before = signal.signal(number, end)
    try:
        yield
    finally:
        signal.signal(number, before)
