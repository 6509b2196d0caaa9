"""Healthy tenants are on time or explained, whatever else is stored, fails or is away: random stories by seed."""

import random

import pytest

from onthedot.domain.runs.records import Kind
from onthedot.domain.runs.slots import bucket_of
from tests.builders import NOON
from tests.scenarios.kits.isolation import MINUTE, STORY, Story, a_deployment, tell
from tests.scenarios.kits.troubled_world import a_troubled_world


@pytest.mark.parametrize("seed", range(3))
def test_x(seed: int) -> None:
    chance = random.Random(seed)
    with a_troubled_world(seed, a_deployment(chance)) as troubled:
        story = Story(troubled, chance)
        tell(story)
        troubled.let_pass((STORY + 20 * MINUTE) / 1000)
        one = [r for r in story.accepted.values() if r.kind is Kind.ONE_OFF]
        late = [max(0, troubled.calls[r.run_id][0] - r.nominal_at) for r in one if troubled.calls[r.run_id]]
        print(seed, len(one), "one-off", len(late), "called", sum(x <= 1000 for x in late), "on time", troubled.errors, troubled.counts, len(troubled.services.troubles), len(troubled.outages))
