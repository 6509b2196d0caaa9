"""The division of the workers' concurrency among the priorities."""

from typing import Final

# The limits of an SQS event source.
LEAST_CONCURRENCY: Final = 2
MOST_CONCURRENCY: Final = 1000


def share_out(total: int, weights: tuple[int, ...]) -> list[int]:
    """Return whole shares that add up to the total: the minimum for each, and the rest by largest remainder."""
    spare = total - LEAST_CONCURRENCY * len(weights)
    # Weights apply to the total, so that 6:3:1 of 100 is 60, 30, 10. The minimum only raises small shares.
    spares = [max(0.0, total * weight / sum(weights) - LEAST_CONCURRENCY) for weight in weights]
    scale = spare / sum(spares) if sum(spares) else 0.0
    exact = [share * scale for share in spares]
    shares = [int(share + 1e-9) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda at: shares[at] - exact[at])
    for at in by_remainder[: spare - sum(shares)]:
        shares[at] += 1
    return [LEAST_CONCURRENCY + share for share in shares]
