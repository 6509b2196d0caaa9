"""Healthy tenants are on time or explained, whatever else is stored, fails or is away: random stories by seed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onthedot.core.errors import Unavailable
from tests.builders import NOON
from tests.scenarios.isolation.checks import Checks, note_waiting
from tests.scenarios.isolation.story import MINUTE, STORY, Story, a_deployment, tell
from tests.scenarios.kits.troubled_world import a_troubled_world

QUIET = 20 * MINUTE
"""After the story everything works again, for so long."""
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 32))]


@contextmanager
def a_story(seed: int) -> Iterator[Story]:
    chance = random.Random(seed)
    with a_troubled_world(seed, a_deployment(chance)) as troubled:
        yield Story(troubled, chance)


def play(story: Story) -> Checks:
    """Let the story happen, and ask for reasons now and then."""
    for when in range(5 * MINUTE, STORY, 4 * MINUTE):
        story.at(when, lambda: note_waiting(story))
    story.troubled.let_pass((STORY + QUIET) / 1000)
    return Checks(story)


def unexpected(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the errors that parts caught so that others go on, and that no service caused."""
    errors = [record.exc_info[1] for record in caplog.records if record.exc_info is not None]
    return [repr(error) for error in errors if not isinstance(error, Unavailable)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_healthy_tenants_are_on_time_or_explained(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    with a_story(seed) as story:
        tell(story)
        checks = play(story)
        assert len(list(checks.all_due())) > 20
        assert checks.faults() == []
        assert checks.graphs() == []
        assert checks.poisons() == []
        assert checks.stuck() == []
        assert checks.progress() == []
        assert story.troubled.errors.keys() <= {"dispatcher: Unavailable"}
        assert unexpected(caplog) == []


def test_without_trouble_nothing_is_excused_and_all_are_on_time() -> None:
    """The checks themselves excuse nothing when nothing happens."""
    with a_story(7) as story:
        story.healthy_tenant("healthy-0")
        story.healthy_tenant("healthy-1")
        checks = play(story)
        assert {checks.excuse(due) for due in checks.all_due()} == {None}
        assert checks.faults() == []
        assert checks.graphs() == []
        assert checks.stuck() == []
        assert not story.waits
        assert story.troubled.clock.now() == NOON + STORY + QUIET
