"""Hides this process from others of the same user."""

import ctypes
import sys

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def make_private() -> None:
    """From now on no other process of this user can read this one's environment and memory (on Linux).

    Programs that a worker runs are the same user as the worker, whose tokens and credentials stand in both. Debuggers
    of the same user are kept out too. What this process starts afterwards is as usual.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_private() -> bool:
    return sys.platform == "linux" and not ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
