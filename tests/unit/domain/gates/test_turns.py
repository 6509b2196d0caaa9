"""Turns of priorities: 6 : 3 : 1 in each round, from any place."""

from collections import Counter

from onthedot.core.choices import Priority
from onthedot.core.gate_names import turns


def test_each_round_has_six_three_and_one() -> None:
    rounds = [list(turns(f"token {number}")) for number in range(50)]
    for one in rounds:
        assert Counter(one) == {Priority.HIGH: 6, Priority.MEDIUM: 3, Priority.LOW: 1}
    assert {one[0] for one in rounds} == set(Priority)
