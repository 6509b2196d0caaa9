"""The grpc packages are an extra: a worker without them offers no gRPC targets, and says what to install."""

import subprocess
import sys

import pytest

from onthedot.core.clock import SystemClock
from onthedot.targets import grpc as available
from onthedot.worker.target_factories import TargetOptions, factories
from tests.unit.targets.grpc.peer import a_call, a_caller

IMPORTS = """
import sys
from onthedot.core.clock import SystemClock
from onthedot.targets.grpc.caller import GrpcCaller
from onthedot.worker.target_factories import TargetOptions, factories
assert "grpc" in factories(TargetOptions(), SystemClock())
GrpcCaller(allow_private=False)
assert not {"grpc", "grpc_reflection", "google.protobuf"} & sys.modules.keys()
"""


@pytest.fixture
def no_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available, "_PACKAGES", ("grpc", "a_package_that_is_not_installed"))


@pytest.mark.usefixtures("no_grpc")
def test_a_worker_without_the_packages_offers_the_other_targets_only() -> None:
    assert factories(TargetOptions(), SystemClock()).keys() == {"http"}


@pytest.mark.usefixtures("no_grpc")
def test_a_caller_without_the_packages_says_what_to_install() -> None:
    answer = a_caller().perform(a_call("127.0.0.1:1"))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, "unsupported")
    assert "onthedot[grpc]" in (answer.error or "")


def test_nothing_of_grpc_is_imported_before_the_first_call() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
