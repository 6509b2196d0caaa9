"""End the waits of a worker's leases when the state of the worker has changed."""

from onthedot.engine import Engine


def end_wait(engine: Engine, worker_id: str | None) -> None:
    """Let the leases of this worker that wait look once more, and return."""
    if engine.lease_waits is not None and worker_id is not None:
        engine.lease_waits.end(worker_id)
