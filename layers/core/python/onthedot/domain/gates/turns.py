"""The order in which the waiting lists of a gate are served: 6 : 3 : 1, so that LOW moves too."""

import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Final

from onthedot.domain.runs.records import Priority

_H, _M, _L = Priority.HIGH, Priority.MEDIUM, Priority.LOW
_ROUND: Final = (_H, _H, _M, _H, _M, _H, _L, _H, _M, _H)


def turns(token: str) -> Iterator[Priority]:
    """Yield one round of priorities, from a place in it that depends on the token, which is random."""
    begin = zlib.crc32(token.encode()) % len(_ROUND)
    return chain(islice(_ROUND, begin, None), islice(_ROUND, begin))


def share(priority: Priority, waiting: Collection[Priority]) -> float:
    """Return the part of the turns that a priority gets while runs of these priorities wait."""
    turns_of = Counter(_ROUND)
    return turns_of[priority] / sum(turns_of[one] for one in {priority, *waiting})
