"""Measure how long a cold start spends on imports, compared with boto3 and the same clients alone.

Also measure `onthedot --help` and `import onthedot`.

Each function's handler is loaded in a fresh process of the functions' environment: the dependencies layer, which has
boto3, and the core layer, nothing else. The processes take turns. CPU time counts, not the wall clock.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.common import ROOT, Bar, finish, show
from layers.build import dependencies_layer
from onthedot.core.pools import DEFAULT_POOLS, pools_to_text
from onthedot.settings import (
    ApiSettings,
    AuthorizerSettings,
    DispatcherSettings,
    PlannerSettings,
    Settings,
    WorkerSettings,
)

FUNCTION_PYTHON: Final = ROOT / "build" / "function-env" / "bin" / "python"
CORE: Final = ROOT / "layers" / "core" / "python"
QUEUES: Final = "https://sqs.us-east-1.amazonaws.com/123456789012/onthedot-bench-"
STORE: Final[dict[str, Any]] = {
    "stage": "bench",
    "table": "onthedot-bench",
    "shards": 4,
    "lookahead": 3,
    "history_days": 7,
    "backlog_limit": 50_000,
    "queue_base": QUEUES,
    "pools": pools_to_text(DEFAULT_POOLS),
}
REPORT: Final = "\nimport sys, time; sys.stderr.write(f'\\ncpu_ms={time.process_time() * 1000}')"
COMMAND_LINE: Final = {
    "onthedot --help": ("from onthedot.cli.main import main; main(['--help'], standalone_mode=False)", 100),
    "import onthedot": ("import onthedot", 60),
    "from onthedot import Client, AsyncClient": ("from onthedot import Client, AsyncClient", 60),
}
"""The code of each start and its bar in milliseconds. Users have the bytecode; installers write it."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    clients: tuple[str, ...]
    settings: Settings
    at_most: float = 0.7
    """The most that loading it may take, in times of boto3 with the same clients."""


FUNCTIONS: Final = (
    Function("api", ("dynamodb", "sqs", "s3"), ApiSettings(**STORE, blob_bucket="b", allow_list={}), 2.0),
    Function("authorizer", ("dynamodb",), AuthorizerSettings(stage="bench", table="onthedot-bench")),
    Function(
        "planner",
        ("sqs",),
        PlannerSettings(stage="bench", table="onthedot-bench", shards=4, shards_per_group=4, queue_base=QUEUES),
    ),
    Function("dispatcher", ("dynamodb", "sqs", "cloudwatch"), DispatcherSettings(**STORE)),
    Function("worker", ("dynamodb", "sqs", "s3"), WorkerSettings(**STORE, blob_bucket="b", allow_list={})),
)


def environment(function: Function, layers: Sequence[Path], **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "PYTHONPATH": os.pathsep.join(str(layer) for layer in layers),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        **function.settings.to_environment(),
        **more,
    }


def handler_of(function: Function) -> str:
    return f"import sys; sys.path.insert(0, {str(ROOT / 'functions' / function.name)!r}); import handler"


def boto_alone(function: Function) -> str:
    clients = "; ".join(f"boto3.client({service!r})" for service in function.clients)
    return f"import boto3; {clients}"


def cpu_ms(code: str, variables: dict[str, str], python: Path = FUNCTION_PYTHON) -> float:
    """Return the CPU time of a whole process that runs this code."""
    done = subprocess.run(
        [python, "-c", code + REPORT], env=variables, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(done.stderr.rpartition("cpu_ms=")[2])


def layers() -> list[Path]:
    return [dependencies_layer(local=True) / "python", CORE]


def copied_without_bytecode(folder: Path) -> list[Path]:
    """Copy the layers as Lambda gets them when another version of Python built them."""
    copies = [folder / str(number) for number, _ in enumerate(layers())]
    for layer, copy in zip(layers(), copies, strict=True):
        shutil.copytree(layer, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copies


def measure(rounds: int, bare: Sequence[Path]) -> dict[str, dict[str, list[float]]]:
    measured: dict[str, dict[str, list[float]]] = {f.name: defaultdict(list) for f in FUNCTIONS}
    for number in range(rounds + 1):  # the first one writes bytecode and fills the page cache
        for function in FUNCTIONS:
            whole = environment(function, layers())
            found = {
                "boto3 alone": cpu_ms(boto_alone(function), whole),
                "handler": cpu_ms(handler_of(function), whole),
                "no bytecode": cpu_ms(handler_of(function), environment(function, bare, PYTHONDONTWRITEBYTECODE="1")),
            }
            if number:
                for what, spent in found.items():
                    measured[function.name][what].append(spent)
    return measured


def measure_command_line(rounds: int) -> dict[str, float]:
    """Return the least processor time of each start, in this environment with bytecode."""
    with tempfile.TemporaryDirectory() as bytecode:
        variables = {"PATH": os.environ["PATH"], "PYTHONPYCACHEPREFIX": bytecode}
        python = Path(sys.executable)
        return {
            name: min([cpu_ms(code, variables, python) for _ in range(rounds + 1)][1:])
            for name, (code, _) in COMMAND_LINE.items()
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(options.rounds, copied_without_bytecode(Path(folder)))
    # Other programs only ever add time: the least figure is nearest to the truth.
    least = {name: {what: min(each) for what, each in of.items()} for name, of in measured.items()}
    ratios = {name: of["handler"] / of["boto3 alone"] for name, of in least.items()}
    rows: list[list[object]] = [
        [f.name, *least[f.name].values(), ratios[f.name], " ".join(f.clients)] for f in FUNCTIONS
    ]
    show("CPU-ms until the handler is loaded", ["function", *least["api"], "ratio", "clients"], rows)
    bars = [Bar(f"{f.name}: handler / boto3 with the same clients", ratios[f.name], f.at_most) for f in FUNCTIONS]
    starts = measure_command_line(options.rounds)
    show("CPU-ms of a whole process", ["command", "CPU-ms"], [[name, spent] for name, spent in starts.items()])
    bars += [Bar(name, spent, COMMAND_LINE[name][1], "ms") for name, spent in starts.items()]
    return finish("imports", {"cpu_ms": least, "command_line_ms": starts}, bars)


if __name__ == "__main__":
    sys.exit(main())
