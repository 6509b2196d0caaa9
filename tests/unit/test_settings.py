"""Settings: what CDK renders is what a function parses."""

import dataclasses
from typing import Any, get_type_hints

import pytest

from onthedot import settings
from onthedot.settings import BadSettings, PlannerSettings, Settings, WorkerSettings

CLASSES = [c for c in vars(settings).values() if isinstance(c, type) and issubclass(c, Settings) and c is not Settings]
EXAMPLES: dict[Any, Any] = {
    str: "text",
    int: 3,
    bool: True,
    dict[str, Any]: {"functions": ["report-*"], "calls": []},
    dict[str, int]: {"pull": 2},
    list[str]: ["default/push/http/0.5/100/60/10/3"],
}


def example(kind: type[Settings]) -> Settings:
    hints = get_type_hints(kind)
    return kind(**{field.name: EXAMPLES[hints[field.name]] for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_settings_survive_the_environment(kind: type[Settings]) -> None:
    assert kind.from_environment(example(kind).to_environment()) == example(kind)


def test_a_missing_variable_is_named() -> None:
    environment = example(PlannerSettings).to_environment()
    del environment["ONTHEDOT_SHARDS"]
    with pytest.raises(BadSettings, match="ONTHEDOT_SHARDS is not set"):
        PlannerSettings.from_environment(environment)


@pytest.mark.parametrize(
    ("variable", "text"),
    [("ONTHEDOT_SHARDS", "many"), ("ONTHEDOT_ALLOW_PRIVATE_TARGETS", "yes"), ("ONTHEDOT_POOLS", "[1")],
)
def test_a_variable_that_does_not_parse_is_named(variable: str, text: str) -> None:
    environment = {**example(WorkerSettings).to_environment(), variable: text}
    with pytest.raises(BadSettings, match=variable):
        WorkerSettings.from_environment(environment)


def test_private_targets_are_refused_unless_allowed() -> None:
    environment = example(WorkerSettings).to_environment()
    del environment["ONTHEDOT_ALLOW_PRIVATE_TARGETS"]
    assert WorkerSettings.from_environment(environment).allow_private_targets is False
