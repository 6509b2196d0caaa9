"""The parameters of one deployment that decisions depend on."""

from dataclasses import dataclass, field

from onthedot.domain.targets.allow_list import AllowList
from onthedot.domain.workers.pools import Pools


@dataclass(frozen=True, slots=True)
class Deployment:
    """A value with the parameters of one deployment, for decisions and use cases."""

    shards: int
    """Number of shards of the due index."""
    lookahead: int
    """Number of whole buckets after the present one whose runs the dispatcher sends ahead of time."""
    history_days: int
    """Days for which ended records are kept."""
    backlog_limit: int = 50_000
    """When more messages than this wait in a queue, the dispatcher claims no more runs for it."""
    pools: Pools = field(default_factory=Pools)
    allow_list: AllowList = field(default_factory=AllowList)
    """The functions and AWS calls that jobs may name."""
