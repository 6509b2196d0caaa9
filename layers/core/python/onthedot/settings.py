"""One frozen settings class per function, read once at start and failing there when something is missing.

CDK fills the functions' environment from the same classes (`to_environment`), so that the two cannot drift.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, get_origin, get_type_hints

PREFIX = "ONTHEDOT_"


class BadSettings(ValueError):
    """An environment variable is missing or does not parse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Fields map to `ONTHEDOT_<FIELD>`: text, whole numbers, booleans, and JSON for maps and lists."""

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
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else json.dumps(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings(Settings):
    """What every function that schedules needs to know."""

    stage: str
    table: str
    shards: int
    lookahead: int
    history_days: int
    backlog_limit: int
    """Messages waiting in a queue above which no more are claimed for it."""
    queue_urls: dict[str, str]
    """`queue_key(pool, priority)` -> URL of the queue."""
    pools: list[dict[str, Any]]
    """`domain.pools.pools_to_json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings(StoreSettings):
    blob_bucket: str
    allow_list: dict[str, Any]
    """`domain.allow_list.to_json`: which functions and AWS calls jobs may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsSettings(ApiSettings):
    """It accepts jobs as the API does."""

    bus_tenant: str
    """Whose jobs the events of the bus are for."""
    dead_letters_url: str
    """Where events go that ask for what cannot be done, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings(Settings):
    stage: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerSettings(Settings):
    stage: str
    shards: int
    shards_per_group: int
    tick_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherSettings(StoreSettings):
    tick_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorSettings(StoreSettings):
    """It reads the table only, but places and dates are computed as everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings(Settings):
    stage: str
    bus: str
    """Name of the bus that hears of jobs and runs."""
    every_change: bool
    """Whether it hears of each change of a state, or of ends only."""
    with_results: bool
    """Whether events carry payloads and results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(StoreSettings):
    blob_bucket: str
    allow_list: dict[str, Any]
    allow_private_targets: bool = False
    """Whether callbacks may go to loopback and private addresses: on the local AWS only."""
