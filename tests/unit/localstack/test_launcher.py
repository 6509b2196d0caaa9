"""The launcher's adjustments fit the pinned MiniStack, and refuse any other."""

import io
import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from localstack import launcher
from localstack.home import ROOT, Home
from localstack.launcher import FOLLOW_POINTERS, SharedLayers
from localstack.ministack_process import ministack_environment

# MiniStack is adjusted in a process of its own: this one must keep it as it is.
PROBE = """
import sys, threading
from pathlib import Path
from localstack import launcher
launcher.adjust(Path("/functions/python"))
from ministack.core import lambda_runtime
from ministack.services import lambda_svc, scheduler
binary, script = lambda_runtime._detect_runtime_binary("python3.13")
assert binary == "/functions/python", binary
assert script.startswith(launcher.FORGET_THE_HOST)
assert lambda_runtime._detect_runtime_binary("nodejs24.x")[0] == "node"
assert lambda_svc._resolve_layer_zip.__name__ == "resolve_layer_zip"
assert lambda_svc.acquire_worker.__module__ == "localstack.launcher"
assert scheduler._SCHEDULE_TICK_INTERVAL == 1
assert lambda_svc._ESM_IDLE_WAKE_GAP_SECONDS == launcher.POLL_GAP_SECONDS
assert "onthedot-wake" in {thread.name for thread in threading.enumerate()}
worker = lambda_runtime.Worker("f", {}, b"")
assert worker._drain_stderr_bounded() == ""
assert lambda_svc._esm_wake.wait(30)
from ministack.services import apigateway_v1
assert apigateway_v1.handle_execute.__wrapped__.__module__ == "ministack.services.apigateway_v1"
"""


def test_the_pinned_ministack_is_the_one_that_is_installed_and_locked() -> None:
    assert version("ministack") == launcher.PINNED_MINISTACK
    assert f"ministack=={launcher.PINNED_MINISTACK} " in (ROOT / "requirements.lock").read_text()
    assert f'"ministack=={launcher.PINNED_MINISTACK}"' in (ROOT / "pyproject.toml").read_text()


def test_every_adjustment_fits_the_pinned_ministack(tmp_path: Path) -> None:
    environment = {**ministack_environment(Home(tmp_path, 4999)), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_functions_get_paths_percent_encoded_as_on_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []

    def handle_execute(  # noqa: PLR0917 - as in MiniStack
        api_id: str, stage_name: str, method: str, path: str, headers: Any, body: Any, query_params: Any
    ) -> None:
        del api_id, stage_name, method, headers, body, query_params
        paths.append(path)

    api_gateway = ModuleType("ministack.services.apigateway_v1")
    api_gateway.handle_execute = handle_execute  # type: ignore[attr-defined]
    monkeypatch.setattr(launcher, "import_module", lambda _: api_gateway)
    launcher.adjust_paths()
    for path in ("/v1/jobs/job_1", "/v1/gates/customer:100%25 é/#"):
        api_gateway.handle_execute("api", "stage", "GET", path, {}, b"", {})
    assert paths == ["/v1/jobs/job_1", "/v1/gates/customer:100%2525%20%C3%A9/%23"]


def test_another_ministack_is_refused_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = ModuleType("inside")
    vars(inside).update(_interval="ten", _detect=a_version)
    for wrong in (
        lambda: launcher.existing(inside, "_gone", float),
        lambda: launcher.replace_value(inside, "_interval", 1),
        lambda: launcher.with_parameters(inside, "_detect", ["runtime"]),
    ):
        with pytest.raises(launcher.MinistackChangedError, match=r"inside\._(gone|interval|detect)"):
            wrong()
    assert inside._interval == "ten"
    monkeypatch.setattr(launcher, "version", a_version)
    with pytest.raises(launcher.MinistackChangedError, match=r"9\.9\.9"):
        launcher.adjust(Path("python"))


def a_version(_: str) -> str:
    return "9.9.9"


def test_a_function_sees_nothing_of_the_process_that_started_it() -> None:
    started_with = {
        "PATH": os.environ["PATH"],
        "AWS_REGION": "us-east-1",
        "_LAMBDA_TIMEOUT": "3",
        "STATE_DIR": "/secret",
        "GATEWAY_PORT": "1",
        "ONTHEDOT_TABLE": "of the host",
    }
    show = f"{launcher.FORGET_THE_HOST}\nimport json; print(json.dumps(list(os.environ)))"
    seen = subprocess.run([sys.executable, "-c", show], env=started_with, capture_output=True, text=True, check=True)
    # Python itself may add LC_CTYPE.
    assert set(json.loads(seen.stdout)) - {"LC_CTYPE"} == {"AWS_REGION", "PATH", "_LAMBDA_TIMEOUT"}


def an_archive(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"python/{name}.py", text)
    return content.getvalue()


def test_a_layer_is_unpacked_once_and_found_in_its_place_of_the_search_path(tmp_path: Path) -> None:
    layers = SharedLayers(tmp_path / "shared")
    directories = []
    for number, archive in enumerate([an_archive(one="1"), an_archive(two="2"), an_archive(one="1")]):
        directories.append(tmp_path / f"layer_{number}")
        with zipfile.ZipFile(io.BytesIO(layers.pointer_to(archive))) as pointer:
            pointer.extractall(directories[-1])
    plain = tmp_path / "layer_plain"
    given = os.pathsep.join(map(str, [*directories, plain]))
    show = f"{FOLLOW_POINTERS}\nprint(os.environ['_LAMBDA_LAYERS_DIRS'])"
    environment = {"_LAMBDA_LAYERS_DIRS": given}
    seen = subprocess.run([sys.executable, "-c", show], env=environment, capture_output=True, text=True, check=True)
    one, two, again, other = map(Path, seen.stdout.strip().split(os.pathsep))
    assert (one / "python" / "one.py").read_text() == "1"
    assert (two / "python" / "two.py").read_text() == "2"
    assert (again, other) == (one, plain)
    assert len(list((tmp_path / "shared").iterdir())) == 2


class Pool:
    """MiniStack's pool of one function, all of whose processes are busy for the first calls."""

    def __init__(self, busy_calls: int) -> None:
        self.bounds: list[int | None] = []
        self._busy_calls = busy_calls

    def acquire(self, *_: object, qualifier: str, max_concurrency: int | None) -> tuple[str | None, str]:
        self.bounds.append(max_concurrency)
        busy = max_concurrency is not None and len(self.bounds) <= self._busy_calls
        return (None, "func_cap") if busy else ("process", "reused")


def test_a_call_waits_for_one_of_a_few_processes_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def bounds(function: str, busy_calls: int) -> list[int | None]:
        pool = Pool(busy_calls)
        acquire = launcher.bounded(pool.acquire, is_fed=lambda function: function == "worker")
        assert acquire(function, {}, b"") == ("process", "reused")
        return pool.bounds

    monkeypatch.setattr(launcher, "LOOK_AGAIN_SECONDS", 0)
    assert bounds("api", 3) == [launcher.PROCESSES] * 4
    assert bounds("worker", 1000) == [None], "its event source has a limit of its own"
    monkeypatch.setattr(launcher, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(launcher, "LOOK_AGAIN_SECONDS", 0.001)
    assert bounds("api", 1000)[-1] is None
