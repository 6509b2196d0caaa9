"""Gates keep their rules through random lives: faults, lag, duplicates, and limits that change while runs wait."""

import pytest

from tests.scenarios.gates.chaos import live_through

QUICK = 3
SEEDS = [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, 24))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_gates_keep_their_rules_whatever_happens(seed: int) -> None:
    outcome = live_through(seed)
    assert outcome.problems == []
    assert outcome.counts["starts"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_gates_keep_their_rules_without_faults_and_changes(seed: int) -> None:
    outcome = live_through(seed, faulty=False, changing=False)
    assert outcome.problems == []
    assert outcome.counts["crash"] == outcome.counts["away"] == 0
