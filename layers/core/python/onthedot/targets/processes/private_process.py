"""Hide this process from other processes of the same user."""

import ctypes
import sys

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def make_private() -> None:
    """Keep other processes of this user from reading the environment and memory of this one (on Linux).

    The programs that a worker runs have the same user as the worker, whose tokens and credentials are in both.
    Debuggers of the same user cannot attach either. Processes that this one starts afterwards are not private.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_private() -> bool:
    """Return whether `make_private` was called in this process (on Linux)."""
    return sys.platform == "linux" and not ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
