"""The handler of `benchmarks.serve_steps`: it does nothing."""

from onthedot import job


@job("noop")
def noop(payload: object) -> None:  # noqa: ARG001 - as handlers are called
    return
