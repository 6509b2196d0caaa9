"""The moves of a run's life, as pure functions: each one takes the facts that the caller knows and returns a `Move`.

The use cases decide which move to make and the store applies it. `attempts` has the moves of a worker's attempt,
`sent` those of a run that no worker has started yet, `ended` those of a run that has ended, `aside` those of a run that
was set aside or whose pool is gone.
"""

from onthedot.domain.runs.lifecycle.aside import change_pool, put_back, wait_for_pool
from onthedot.domain.runs.lifecycle.attempts import (
    CLOCK_MARGIN_MS,
    KEPT_ATTEMPTS,
    LEASE_MS,
    MAX_LOSSES,
    Failure,
    extend_lease,
    fail,
    hand_back,
    lease_is_over,
    lose,
    repark,
    retry,
    start,
    stop,
    succeed,
)
from onthedot.domain.runs.lifecycle.ended import (
    CHANGED_WHY,
    PAUSED_WHY,
    delete,
    grow_range,
    may_be_revived,
    redrive,
    revive,
)
from onthedot.domain.runs.lifecycle.sent import (
    LONGEST_LOOK_MS,
    MAX_RESENDS,
    claim,
    look_later,
    name_last_started,
    postpone,
    reroute,
    resend,
    skip,
    undeliverable,
)
from onthedot.domain.runs.moves import applied

__all__ = [
    "CHANGED_WHY",
    "CLOCK_MARGIN_MS",
    "KEPT_ATTEMPTS",
    "LEASE_MS",
    "LONGEST_LOOK_MS",
    "MAX_LOSSES",
    "MAX_RESENDS",
    "PAUSED_WHY",
    "Failure",
    "applied",
    "change_pool",
    "claim",
    "delete",
    "extend_lease",
    "fail",
    "grow_range",
    "hand_back",
    "lease_is_over",
    "look_later",
    "lose",
    "may_be_revived",
    "name_last_started",
    "postpone",
    "put_back",
    "redrive",
    "repark",
    "reroute",
    "resend",
    "retry",
    "revive",
    "skip",
    "start",
    "stop",
    "succeed",
    "undeliverable",
    "wait_for_pool",
]
