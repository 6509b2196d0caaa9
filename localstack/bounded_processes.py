"""A limit on the number of processes of a function that has no event source.

MiniStack, like AWS, starts another process when all processes of a function are busy. On one machine, a hundred calls
of the API within a second start ninety processes, which then compete for the processor for seconds. With this limit a
call waits until one of a few processes is free. A function with an event source is not limited here, because the event
source has its own limit.
"""

import time
from collections.abc import Callable
from typing import Any

PROCESSES = 4
PATIENCE_SECONDS = 2.0
"""The wait after which a call gets its own process. Without it, a function that calls itself would wait for ever."""
LOOK_AGAIN_SECONDS = 0.01

Lease = tuple[Any, str]


def bounded(acquire: Callable[..., Lease], is_fed: Callable[[str], bool]) -> Callable[..., Lease]:
    """Return MiniStack's `acquire_worker` with the limit. `is_fed` returns whether a function has an event source."""

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
