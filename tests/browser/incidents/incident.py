"""An incident: how it comes about, the sentence that names its cause, and the way to it from the start page."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.browser.world.build import World
from tests.browser.world.past import Past, PastApi
from tests.browser.world.workers import FOREVER, RestWorker, Work, employ

MOST_CLICKS = 3


@dataclass(frozen=True)
class Click:
    """A click on the element with this role and accessible name. `{job}` stands for the name of the incident's job."""

    role: str
    name: str


@dataclass
class Scene:
    """One tenant in which an incident happens."""

    past: Past
    present: int
    port: int
    tenant: str
    jobs: dict[str, str] = field(default_factory=dict)
    """Ids by name. The first one is the job that an operator asks about."""
    workers: list[RestWorker] = field(default_factory=list)
    """Workers that are alive."""
    hired: int = 0
    """Number of workers so far."""
    tokens: dict[str, str] = field(default_factory=dict)
    """By role."""

    @property
    def api(self) -> PastApi:
        return self.past.api(self.tenant)

    @property
    def job(self) -> str:
        """The id of the job that an operator asks about."""
        return next(iter(self.jobs.values()))

    @property
    def name(self) -> str:
        return next(iter(self.jobs))

    def before(self, milliseconds: int, act: Callable[[], Any]) -> None:
        """Plan an act so long before the present."""
        self.past.plan(self.present - milliseconds, lambda: act() and None)

    def url(self, path: str = "work") -> str:
        return f"http://{self.tenant}.internal:{self.port}/{path}"

    def submit(self, name: str, **job: Any) -> str:
        """Submit a job, and remember it by its name."""
        body = job if "target" in job else {"callback_url": self.url(), **job}
        self.jobs[name] = self.api.submit(name=name, **body)
        return self.jobs[name]

    def hire(self, *capabilities: str, until: int = FOREVER, concurrency: int = 4, **works: Work) -> None:
        """Let a worker work from now on. It is alive in the present too, unless it falls silent before."""
        able = ("python", *(f"python:{name}" for name in works), *capabilities)
        self.hired += 1
        worker = RestWorker(self.api, f"{self.tenant}-{self.hired}", works, able, concurrency)
        employ(self.past, worker, until)
        if until == FOREVER:
            self.workers.append(worker)


def _nothing(_: World, __: Scene) -> None:
    """Do nothing in the present."""


@dataclass(frozen=True)
class Incident:
    """An incident with the sentence that names its cause."""

    name: str
    seed: Callable[[Scene], None]
    """Plans what happens in the past."""
    sentence: str
    """A regular expression that JavaScript knows too. Capitals do not count."""
    clicks: tuple[Click, ...] = (Click("link", "Jobs"), Click("link", "{job}"))
    """From the start page to the sentence, at most `MOST_CLICKS`."""
    now: Callable[[World, Scene], None] = _nothing
    """Does in the present what the past cannot do: runs that are under way."""

    def __post_init__(self) -> None:
        assert len(self.clicks) <= MOST_CLICKS, self.name
        re.compile(self.sentence)

    @property
    def tenant(self) -> str:
        return self.name.replace(" ", "-")
