"""The protocol of gates holds in small instances, and each of its rules is needed.

`make model` explores larger instances.
"""

from typing import Final

import pytest

from tests.model.gates.configurations import PLANTED, SMALL
from tests.model.gates.explorer import check

pytestmark = pytest.mark.slow
NO_FAULTS: Final = {
    "two runs",
    "a run is taken over",
    "two gates",
    "a retry",
    "a pool without workers",
    "keys: two keys",
    "rates",
    "rates: a burst",
    "rates: a waiting list",
}


@pytest.mark.parametrize("name", SMALL)
def test_the_protocol_holds_with(name: str) -> None:
    outcome = check(SMALL[name])
    assert outcome.broken == {}
    assert outcome.whole
    assert bool(outcome.faults) is (name not in NO_FAULTS)


@pytest.mark.parametrize("name", PLANTED)
def test_the_model_finds_the_planted_bug(name: str) -> None:
    planted = PLANTED[name]
    outcome = check(planted.model, most=planted.most, stop_at=(planted.breaks,))
    assert planted.breaks in outcome.broken
