"""MiniStack in this process, with a few adjustments that make it behave more like AWS.

`ministack_process.start` runs this module as a separate process. The adjustments change private names of MiniStack, so
its version is pinned, and every name is checked before it is changed. Another version fails here, instead of running
half adjusted. Each `adjust_` function says what it changes and why.
"""

import argparse
import fcntl
import functools
import hashlib
import inspect
import io
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import quote

from localstack.enforced_iam import adjust_iam
from localstack.recursion import adjust_recursion
from localstack.streams import adjust_streams

PROCESSES = 4
PATIENCE_SECONDS = 2.0
"""The wait after which a call gets its own process. Without it, a function that calls itself would wait forever."""
LOOK_AGAIN_SECONDS = 0.01

Lease = tuple[Any, str]


def bounded(acquire: Callable[..., Lease], is_fed: Callable[[str], bool]) -> Callable[..., Lease]:
    """Return MiniStack's `acquire_worker` with a limit on the processes of a function that has no event source.

    MiniStack, like AWS, starts another process when all processes of a function are busy. On one machine, a hundred
    calls of the API within a second start ninety processes, which then compete for the processor for seconds. With this
    limit a call waits until one of a few processes is free. An event source has its own limit: `is_fed` returns whether
    a function has one.
    """

    def acquire_worker(
        func_name: str,
        config: dict[str, Any],
        code_zip: bytes,
        qualifier: str = "$LATEST",
        max_concurrency: int | None = None,
    ) -> Lease:
        def lease(bound: int | None) -> Lease:
            return acquire(func_name, config, code_zip, qualifier=qualifier, max_concurrency=bound)

        if max_concurrency or is_fed(func_name):
            return lease(max_concurrency)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            worker, reason = lease(PROCESSES)
            if worker is not None:
                return worker, reason
            time.sleep(LOOK_AGAIN_SECONDS)
        return lease(None)

    return acquire_worker


POINTER = "onthedot-layer-is-at"

# Runs first in the process of a function. The code of MiniStack then puts these directories on the search path.
FOLLOW_POINTERS = f"""
import os
def _onthedot_layer(directory):
    pointer = os.path.join(directory, "{POINTER}")
    if os.path.exists(pointer):
        with open(pointer) as file:
            return file.read()
    return directory
if os.environ.get("_LAMBDA_LAYERS_DIRS"):
    os.environ["_LAMBDA_LAYERS_DIRS"] = os.pathsep.join(
        map(_onthedot_layer, os.environ["_LAMBDA_LAYERS_DIRS"].split(os.pathsep))
    )
"""


class SharedLayers:
    """Layers that are unpacked once for all processes, each in a directory named by the hash of its content.

    MiniStack unpacks every layer again for each process, which is most of the cost of a cold start. Here a process gets
    a small archive with the path of the unpacked layer. The order of the search path does not change.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()

    def pointer_to(self, archive: bytes) -> bytes:
        """Return an archive that contains only the path at which this one is unpacked.

        Raise zipfile.BadZipFile when the content is not an archive.
        """
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as pointer:
            pointer.writestr(POINTER, str(self._unpacked(archive)))
        return content.getvalue()

    def _unpacked(self, archive: bytes) -> Path:
        finished = self._directory / hashlib.sha256(archive).hexdigest()
        with self._lock:
            if not finished.is_dir():
                self._unpack(archive, finished)
        return finished

    def _unpack(self, archive: bytes, finished: Path) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=self._directory))
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as content:
                content.extractall(draft)
            draft.rename(finished)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


PINNED_MINISTACK = "1.5.33"

POLL_SECONDS = 0.025
"""The interval at which event sources look for messages whose delay has ended."""
POLL_GAP_SECONDS = 0.01
LOG_WAIT_SECONDS = 0.004
SCHEDULE_TICK_SECONDS = 1
PATH_CHARACTERS = "/:@!$&'()*+,;=~"
"""Characters that a path may have as they are, besides letters, digits, `_`, `.` and `-`."""

# Removes the variables of the process that started a function. The function's own variables are set after this.
FORGET_THE_HOST = """
import os
for _name in list(os.environ):
    if not _name.startswith(("AWS_", "_LAMBDA_", "LAMBDA_TASK_ROOT", "_X_AMZN_", "_MINISTACK_INVOKE")):
        if _name not in ("PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR"):
            del os.environ[_name]
"""


class MinistackChangedError(RuntimeError):
    """The installed MiniStack is not the version that the adjustments were written for."""


def refuse(what: str) -> NoReturn:
    raise MinistackChangedError(
        f"{what}; localstack/launcher.py is written for ministack=={PINNED_MINISTACK}, "
        f"and ministack=={version('ministack')} is installed"
    )


def existing(owner: ModuleType | type, name: str, kind: type | tuple[type, ...]) -> Any:
    """Return the private attribute that is about to be adjusted.

    Raise MinistackChangedError when it does not exist or has another type.
    """
    value = getattr(owner, name, None)
    if not isinstance(value, kind):
        refuse(f"{owner.__name__}.{name} is {type(value).__name__}, not {kind}")
    return value


def with_parameters(owner: ModuleType | type, name: str, parameters: list[str]) -> Callable[..., Any]:
    """Return the private function that is about to be replaced, if it still has these parameters."""
    function: Callable[..., Any] = existing(owner, name, type(refuse))
    found = list(inspect.signature(function).parameters)
    if found != parameters:
        refuse(f"{owner.__name__}.{name} takes {found}, not {parameters}")
    return function


def replace_value(owner: ModuleType | type, name: str, value: object) -> None:
    """Replace a private value by one of the same type."""
    existing(owner, name, type(value))
    setattr(owner, name, value)


def adjust_event_sources() -> None:
    """Deliver a delayed message as soon as its delay ends. MiniStack's poller would look only once a second."""
    concurrency = import_module("ministack.core.concurrency")
    lambda_svc = import_module("ministack.services.lambda_svc")
    wake: threading.Event = existing(concurrency, "esm_wake", threading.Event)
    if existing(lambda_svc, "_esm_wake", threading.Event) is not wake:
        refuse("lambda_svc._esm_wake is not concurrency.esm_wake")
    replace_value(lambda_svc, "_ESM_IDLE_WAKE_GAP_SECONDS", POLL_GAP_SECONDS)

    def keep_waking() -> None:
        while True:
            wake.set()
            time.sleep(POLL_SECONDS)

    threading.Thread(target=keep_waking, daemon=True, name="onthedot-wake").start()


def adjust_function_environment(function_python: Path) -> None:
    """Run functions with their layers only, without the packages and variables of MiniStack.

    So a package missing from a layer, or a variable missing from a function, fails here. AWS has a boto3 besides the
    layers, whose version AWS chooses.
    """
    lambda_runtime = import_module("ministack.core.lambda_runtime")
    detect = with_parameters(lambda_runtime, "_detect_runtime_binary", ["runtime"])
    script = detect("python3.13")[1]
    for line in ("os.environ.update(env)", 'os.environ.get("_LAMBDA_LAYERS_DIRS", "").split(os.pathsep)'):
        if line not in script:
            refuse(f"the script of a function's process no longer has {line}")

    def detect_runtime_binary(runtime: str) -> tuple[str, str]:
        if runtime.startswith("python"):
            return str(function_python), FORGET_THE_HOST + FOLLOW_POINTERS + script
        binary, other_script = detect(runtime)
        return binary, other_script

    replace_value(lambda_runtime, "_detect_runtime_binary", detect_runtime_binary)


def adjust_layers(layers: SharedLayers) -> None:
    """Unpack a layer once instead of once for each process. A cold start then takes a third of the time."""
    lambda_svc = import_module("ministack.services.lambda_svc")
    resolve = with_parameters(lambda_svc, "_resolve_layer_zip", ["attachment"])

    def resolve_layer_zip(attachment: object) -> bytes | None:
        archive = resolve(attachment)
        return layers.pointer_to(archive) if archive else archive

    replace_value(lambda_svc, "_resolve_layer_zip", resolve_layer_zip)


def adjust_process_pool() -> None:
    """Let a burst of calls wait for a few processes instead of starting one process for each call."""
    lambda_svc = import_module("ministack.services.lambda_svc")
    parameters = ["func_name", "config", "code_zip", "qualifier", "max_concurrency"]
    acquire = with_parameters(lambda_svc, "acquire_worker", parameters)
    event_sources = with_parameters(lambda_svc, "_iter_all_esms", [])

    def is_fed(function: str) -> bool:
        return any(source["FunctionName"] == function for _account, _region, source in event_sources())

    replace_value(lambda_svc, "acquire_worker", bounded(acquire, is_fed))


def adjust_log_wait() -> None:
    """Shorten the 50 ms that MiniStack waits for the first log line of each call, even if the handler logs nothing."""
    worker_class: type = existing(import_module("ministack.core.lambda_runtime"), "Worker", type)
    parameters = ["self", "first_line_wait", "idle_confirm", "hard_cap"]
    drain = with_parameters(worker_class, "_drain_stderr_bounded", parameters)

    @functools.wraps(drain)
    def shorter(worker: object, first_line_wait: float = LOG_WAIT_SECONDS, **others: float) -> Any:
        return drain(worker, first_line_wait=first_line_wait, **others)

    replace_value(worker_class, "_drain_stderr_bounded", shorter)


def adjust_schedules() -> None:
    """Check schedules every second, so that the tick of each minute comes within a second of its time."""
    scheduler = import_module("ministack.services.scheduler")
    replace_value(scheduler, "_SCHEDULE_TICK_INTERVAL", SCHEDULE_TICK_SECONDS)


def adjust_paths() -> None:
    """Give the path of a request to a function as a REST API of AWS does: percent-encoded. MiniStack decodes it."""
    api_gateway = import_module("ministack.services.apigateway_v1")
    parameters = ["api_id", "stage_name", "method", "path", "headers", "body", "query_params"]
    execute = with_parameters(api_gateway, "handle_execute", parameters)

    @functools.wraps(execute)
    def encoded(api_id: str, stage_name: str, method: str, path: str, *others: Any) -> Any:
        return execute(api_id, stage_name, method, quote(path, safe=PATH_CHARACTERS), *others)

    replace_value(api_gateway, "handle_execute", encoded)


def adjust(function_python: Path) -> None:
    """Make every adjustment.

    Raise MinistackChangedError when MiniStack has another version, or its private names differ.
    """
    if version("ministack") != PINNED_MINISTACK:
        refuse("another version of MiniStack is installed")
    adjust_function_environment(function_python)
    adjust_layers(SharedLayers(Path(tempfile.gettempdir()) / "layers"))
    adjust_process_pool()
    adjust_log_wait()
    adjust_schedules()
    adjust_paths()
    if os.environ.get("AUTH") == "true":
        adjust_iam(with_parameters, replace_value)
    adjust_streams(with_parameters, replace_value)
    adjust_recursion(with_parameters, replace_value)
    adjust_event_sources()


def hold_lock(path: Path, port: int) -> None:
    """Lock the file for the life of this process, and write our pid and port into it.

    The operating system releases the lock when the process ends, however it ends. A pid file would stay.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.ftruncate(lock, 0)
    os.write(lock, json.dumps({"pid": os.getpid(), "port": port}).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--function-python", type=Path, required=True)
    options = parser.parse_args()
    hold_lock(options.lock, int(os.environ["GATEWAY_PORT"]))
    adjust(options.function_python)
    sys.argv = ["ministack"]
    with_parameters(import_module("ministack.app"), "main", [])()


if __name__ == "__main__":
    main()
