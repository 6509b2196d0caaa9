"""The handler that `onthedot serve --app benchmarks.peers.noop_app` runs in the benchmark beside other tools."""

from benchmarks.peers.programs.calls import note
from onthedot import job


@job("noop")
def noop(payload: list[int]) -> None:
    number, due = payload
    note(number, due)
