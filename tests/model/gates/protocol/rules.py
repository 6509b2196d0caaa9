"""The rules of the protocol, and the instances of its model."""

from dataclasses import dataclass
from typing import Final

NO_LIMIT: Final = 9
"""The limit of a gate that was deleted. Runs pass it without a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of the protocol. A test changes each of them."""

    flag_first: bool = True
    """The gate is flagged before the run goes on the list."""
    skips_old: bool = False
    """A flag of any age is left as it is. On: a bug."""
    late_flag: bool = True
    """A worker that parked later than 30 seconds after the flag flags again before it deletes the message."""
    again_flag: bool = True
    """A message whose run is on a list makes the worker flag that gate again and look again."""
    fence: bool = True
    """A holder is removed only after its run was moved: lost, or a new generation."""
    fence_to: str = "queue"
    """Where a look moves a run that never started: to the `queue`, or, as a bug, to the `list`."""
    own_token: bool = True
    """A worker removes only the holder of its own attempt. Off: the holders of its run."""
    woken_passes: bool = True
    """A woken run asks for a place only. Off: it has to wait at a flagged gate, as a newcomer does."""
    second_look: bool = True
    """After the park the worker looks again, and goes on if a place is free and no run is before its own."""
    newcomer_reads: str = "pass"
    """A newcomer that is refused by the flag alone reads the list. If it is empty: `pass`, or, as a bug, `clear`."""
    patch_generation: bool = True
    """A PATCH of gates gives a new generation."""
    in_order: bool = True
    """Places are taken in the order of the names."""
    leave_compares: bool = True
    """A gate leaves its slot only if the time of its flag has not changed since it was read."""
    grace: int = 2
    """A gate leaves its slot only if its flag is older than 30 s and the lag of the index. 1: the lag. 0: at once."""
    read_first: bool = False
    """The worker reads the run before it asks. Off: it learns from the refused start or park."""
    give_back_wakes: bool = True
    """Each place that is given back may wake a run, also after a refused start."""
    pass_on: bool = True
    """A woken run that does not take the place for which it was woken wakes the next one there."""
    woken_stored: bool = True
    """`woken` is in the record, so that a message that is sent again has it too."""
    checks_age: bool = True
    """A worker that got a place with limits that are too old gives it back."""
    resends: bool = True
    """A run that a worker took over without a message, and that finds no place, is sent. Off: it is parked."""
    wakes_all: bool = True
    """A look at a gate that was deleted wakes all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    runs: tuple[tuple[int, ...], ...] = ((0,), (0,))
    """The gates of each run. The number of a run is its rank on a list."""
    limits: tuple[int, ...] = (1,)
    workers: int = 2
    ticks: int = 1
    crashes: int = 0
    duplicates: int = 0
    stops: int = 0
    """How often a worker is stopped beyond its lease."""
    faults_at: tuple[str, ...] = ()
    """The steps at which a process may crash or be stopped. Empty: all."""
    overtakes: int = 0
    """How often a newcomer passes a flagged gate, because another page than the flagged one gave it a place."""
    skips: int = 0
    """How many woken runs are cancelled or skipped before they start."""
    retries: int = 0
    puts: tuple[tuple[int, int], ...] = ()
    """Gates and their new limits, in this order. `NO_LIMIT`: the gate is deleted."""
    patches: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Runs and their new gates, in this order."""
    takes_over: bool = False
    """Whether a worker may start the run that it wakes itself, without a message."""
    lag: int = 1
    """0: the index does not lag. 1: it shows an entry late. 2: it also shows an entry that has left."""
    dead: tuple[int, ...] = ()
