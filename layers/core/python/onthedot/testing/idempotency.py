"""Check that a handler is idempotent: one run has the same effect under each fault as without one."""

import copy
from collections.abc import Callable
from typing import Any, Final

from onthedot.testing.faults import Fault

FAULTS: Final = (
    Fault.DELIVERED_TWICE,
    Fault.DIES_BEFORE_START,
    Fault.DIES_BEFORE_CALL,
    Fault.DIES_BEFORE_FINISH,
    Fault.FAILS_AFTER_CALL,
)
"""Everything that may happen to one run in production, and after which it is delivered again."""


class NotIdempotent(AssertionError):
    """A handler had another effect under a fault than without one."""


def check_idempotent(
    name: str, run: Callable[[Fault | None], None], observe: Callable[[], Any], reset: Callable[[], object] | None
) -> None:
    """Call `run` without a fault, then with each, and compare the effects that `observe` shows. Raise NotIdempotent.

    What a number, a list or a tuple has grown by is the effect of one run. Of any other value, the whole value is.
    """
    __tracebackhide__ = True
    expected = _effect(run, None, observe, reset)
    for fault in FAULTS:
        found = _effect(run, fault, observe, reset)
        if found != expected:
            raise NotIdempotent(
                f"{name} is not idempotent when {fault.value}:\n"
                f"  one run without a fault: {expected!r}\n"
                f"  one run with the fault:  {found!r}\n"
                "Every attempt of a run gets the same context.idempotency_key. Store it with the effect, and do\n"
                "nothing when it is stored already."
            )


def _effect(
    run: Callable[[Fault | None], None],
    fault: Fault | None,
    observe: Callable[[], Any],
    reset: Callable[[], object] | None,
) -> Any:
    if reset is not None:
        reset()
    before = copy.deepcopy(observe())
    run(fault)
    return _growth(before, copy.deepcopy(observe()))


def _growth(before: Any, after: Any) -> Any:
    if isinstance(after, int | float) and isinstance(before, int | float):
        return after - before
    if isinstance(after, list | tuple) and isinstance(before, list | tuple) and after[: len(before)] == before:
        return after[len(before) :]
    return after
