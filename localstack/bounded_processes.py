"""A bound on the processes of functions that nothing else bounds.

MiniStack, like AWS, starts another process whenever all of a function are busy. A machine is no data centre: a
hundred calls of the API within a second start ninety processes, which then take the processor from each other
for seconds. Here a call waits for one of a few to be free. Functions that are fed by an event source are left
alone: it has a bound of its own.
"""

import time
from collections.abc import Callable
from typing import Any

PROCESSES = 4
PATIENCE_SECONDS = 2.0
"""After this a call gets a process of its own, as a function that waits for itself would never be free."""
LOOK_AGAIN_SECONDS = 0.01

Lease = tuple[Any, str]


def bounded(acquire: Callable[..., Lease], is_fed: Callable[[str], bool]) -> Callable[..., Lease]:
    """MiniStack's `acquire_worker`, but patient; `is_fed` tells whether a function has an event source."""

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
