"""The protocol of gates holds in small instances, and each of its rules is needed.

`make model` explores larger instances.
"""

import pytest

from tests.model.gates.configurations import PLANTED, SMALL
from tests.model.gates.explorer import check


@pytest.mark.parametrize("name", SMALL)
def test_the_protocol_holds_with(name: str) -> None:
    outcome = check(SMALL[name])
    assert outcome.broken == {}
    assert outcome.whole


@pytest.mark.parametrize("name", PLANTED)
def test_the_model_finds_the_planted_bug(name: str) -> None:
    planted = PLANTED[name]
    outcome = check(planted.model, most=planted.most, stop_at=(planted.breaks,))
    assert planted.breaks in outcome.broken
