"""The parameters of one deployment that decisions depend on."""

from dataclasses import dataclass, field

from onthedot.domain.targets.allow_list import AllowList
from onthedot.domain.workers.pools import Pools


@dataclass(frozen=True, slots=True)
class Deployment:
    """How this deployment places runs."""

    shards: int
    lookahead: int
    history_days: int
    backlog_limit: int = 50_000
    """Messages waiting in a queue above which no more are claimed for it."""
    pools: Pools = field(default_factory=Pools)
    allow_list: AllowList = field(default_factory=AllowList)
    """Which functions and AWS calls jobs may name."""
