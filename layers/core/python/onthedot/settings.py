"""The settings of each Lambda function: one frozen class, read from the environment when the function starts.

A missing or wrong variable fails the start. CDK fills the environment from the same classes (`to_environment`), so that
the two cannot drift.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, get_origin, get_type_hints

from onthedot.core import json_text

PREFIX = "ONTHEDOT_"


class BadSettings(ValueError):
    """An environment variable is missing or does not parse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The base class: each field is the variable `ONTHEDOT_<FIELD>`, as text, whole number, boolean or JSON."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        hints = get_type_hints(cls)
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            variable = PREFIX + field.name.upper()
            if variable in environment:
                values[field.name] = _parse(variable, environment[variable], hints[field.name])
            elif field.default is dataclasses.MISSING:
                raise BadSettings(f"{variable} is not set; {cls.__name__} needs it")
        return cls(**values)

    def to_environment(self) -> dict[str, str]:
        return {PREFIX + field.name.upper(): _render(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _parse(variable: str, text: str, kind: Any) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        if kind is int:
            return int(text)
        if kind is str:
            return text
        return get_origin(kind)(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise BadSettings(f"{variable}={text!r} does not parse as {kind}") from error


def _render(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else json_text.to_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings(Settings):
    """The settings that every function that schedules has."""

    stage: str
    table: str
    shards: int
    lookahead: int
    history_days: int
    backlog_limit: int
    """When more messages than this wait in a queue, the dispatcher claims no more runs for it."""
    queue_base: str
    """The URL of every queue of the stage, before the queue's name."""
    pools: list[str]
    """The pools, as `pools_to_text` writes them."""
    detailed_metrics: bool = False
    """Whether metrics of runs also have the dimensions pool and priority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings(StoreSettings):
    blob_bucket: str
    allow_list: dict[str, Any]
    """The functions and AWS calls that jobs may name, as `allow_list.to_json` writes them."""
    public_url: str = ""
    """The URL of the API on a domain of its own, without a slash at the end. Empty if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsSettings(ApiSettings):
    """The settings of the function that handles events of the bus. It accepts jobs as the API does."""

    bus_tenant: str
    """The tenant whose event jobs get the events of the bus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings(Settings):
    stage: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerSettings(Settings):
    stage: str
    table: str
    shards: int
    shards_per_group: int
    queue_base: str
    dead_letters: list[str] = dataclasses.field(default_factory=list)
    """The last parts of the names of the stage's dead-letter queues."""
    least_workers: dict[str, int] = dataclasses.field(default_factory=dict)
    """The pools that have a minimum of workers, and that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherSettings(StoreSettings):
    canary: bool = False
    """Whether the stage has a job of its own that fires each minute and measures lateness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorSettings(StoreSettings):
    """The settings of the auditor. It only reads the table, but computes slots and dates as all functions do."""

    blob_bucket: str = ""
    """The bucket from which it removes unused payloads. Commands, which only audit, need none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings(Settings):
    stage: str
    bus: str
    """Name of the bus that gets the lifecycle events."""
    every_change: bool
    """Whether each change of a status is published, or only the ends of jobs and runs."""
    with_results: bool
    """Whether events carry payloads and results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsSettings(Settings):
    stage: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(StoreSettings):
    """The settings of a Lambda worker, which runs attempts."""

    blob_bucket: str
    allow_list: dict[str, Any]
    allow_private_targets: bool = False
    """Whether targets may have loopback and private addresses. True on the local AWS only."""
    calls_role: str = ""
    """ARN of the role with which `lambda` and `aws` targets are called. Empty: the worker's own credentials."""
