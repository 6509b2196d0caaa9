"""A worker that runs programs hides its memory and environment before it starts a process."""

import subprocess
import sys

import pytest

LOOK = """
from onthedot.targets.processes.supervised import is_private
from onthedot.core.clock import SystemClock
from onthedot.worker.target_factories import TargetOptions, factories
factories(TargetOptions(shell={shell}, app="my_app"), SystemClock())
print(is_private())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can hide a process")
@pytest.mark.parametrize("shell", [True, False])
def test_it_is_private_before_the_first_handlers_process_starts(shell: bool) -> None:
    """A handler's process has the worker's environment and is kept. Started earlier, it would show the environment."""
    done = subprocess.run([sys.executable, "-c", LOOK.format(shell=shell)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(shell)
