"""How the workers' concurrency is divided among the priorities."""

from typing import Final

# SQS event sources take no less and no more.
LEAST_CONCURRENCY: Final = 2
MOST_CONCURRENCY: Final = 1000


def share_out(total: int, weights: tuple[int, ...]) -> list[int]:
    """Whole shares that add up to the total: the least that each must have, the rest by largest remainder."""
    spare = total - LEAST_CONCURRENCY * len(weights)
    # Weights apply to the whole, so that 6:3:1 of 100 is 60, 30, 10 and the minimum only lifts the small ones.
    wanted = [max(0.0, total * weight / sum(weights) - LEAST_CONCURRENCY) for weight in weights]
    scale = spare / sum(wanted) if sum(wanted) else 0.0
    exact = [want * scale for want in wanted]
    shares = [int(share + 1e-9) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda at: shares[at] - exact[at])
    for at in by_remainder[: spare - sum(shares)]:
        shares[at] += 1
    return [LEAST_CONCURRENCY + share for share in shares]
