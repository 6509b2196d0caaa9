"""All resources of the API are laid out in the same way."""

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

import pytest
from typing_extensions import is_typeddict

from onthedot import api
from onthedot.api.fields import Fields

RESOURCES = [found.name for found in pkgutil.iter_modules(api.__path__) if found.name != "core"]
PARTS = {"fields", "requests", "views", "show", "routes"}
OTHERS = {
    "jobs": {"batches", "patches"},
    "schedules": {"recurrences", "previews"},
    "events": {"bus_events"},
    "targets": {"http_fields"},
    "console": {"files"},
    "statistics": {"show_overview"},
}
"""Further modules, which read requests or the files of the console, or show the overview."""


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(api.__path__, "onthedot.api.")
    return [import_module(module.name) for module in found if not module.ispkg]


def classes_of(module: ModuleType) -> list[type]:
    return [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_resource_has_no_other_modules(resource: str) -> None:
    package = import_module(f"onthedot.api.{resource}")
    names = {found.name for found in pkgutil.iter_modules(package.__path__)}
    assert names <= PARTS | OTHERS.get(resource, set())


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_models_of_requests_stand_in_fields_and_types_of_answers_in_views(module: ModuleType) -> None:
    part = module.__name__.rsplit(".", 1)[1]
    models = [one.__name__ for one in classes_of(module) if issubclass(one, Fields)]
    views = [one.__name__ for one in classes_of(module) if is_typeddict(one)]
    assert not models or part.endswith("fields")
    assert not views or part == "views"


@pytest.mark.parametrize("module", [m for m in modules() if m.__name__.endswith(".show")], ids=lambda m: m.__name__)
def test_presenters_get_nothing_that_they_could_read_from(module: ModuleType) -> None:
    functions = [one for one in vars(module).values() if inspect.isfunction(one) and one.__module__ == module.__name__]
    annotations = {
        str(parameter.annotation) for one in functions for parameter in inspect.signature(one).parameters.values()
    }
    assert not [name for name in annotations if "Engine" in name or "Blobs" in name or "Store" in name]
    assert functions


def test_no_two_types_of_the_api_have_the_same_name() -> None:
    """The OpenAPI document would name them by their modules, and so would clients that are generated from it."""
    names = [one.__name__ for module in modules() for one in classes_of(module)]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
