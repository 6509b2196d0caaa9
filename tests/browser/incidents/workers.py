"""Incidents of workers and their queues."""

from functools import partial

from tests.browser.incidents.incident import Click, Incident, Scene
from tests.browser.world.past import MINUTE
from tests.browser.world.workers import ENDLESS, Work

LOST = {"status": "LOST", "error": "killed by signal 9 at 2,048 MB"}
BACKLOG = 7
"""More runs than its worker has slots. No other worker of the pool has a free slot now: one that looks at runs which it
may not have hides them for a moment, and then they do not wait.
"""


def _python(handler: str) -> dict[str, str]:
    return {"type": "python", "handler": handler}


def _unable(scene: Scene) -> None:
    scene.before(40 * MINUTE, lambda: scene.hire("gpu", until=scene.present - 20 * MINUTE, train=Work()))
    soon = (scene.present - 10 * MINUTE) / 1000
    needs = {"capabilities": ["gpu"]}
    scene.before(39 * MINUTE, lambda: scene.submit("train-model", target=_python("train"), requirements=needs, at=soon))
    scene.before(38 * MINUTE, lambda: scene.hire(concurrency=1, train=Work(ENDLESS)))
    scene.before(19 * MINUTE, lambda: scene.submit("train-small", target=_python("train"), timeout_seconds=7_200))


def _poisoned(scene: Scene) -> None:
    scene.before(20 * MINUTE, lambda: scene.hire(until=scene.present - 10 * MINUTE, render=Work(1, LOST)))
    scene.before(19 * MINUTE, lambda: scene.submit("render-invoice", target=_python("render")))


def _lost(scene: Scene) -> None:
    scene.before(20 * MINUTE, lambda: scene.hire(until=scene.present - 10 * MINUTE, resize=Work(ENDLESS)))
    scene.before(15 * MINUTE, lambda: scene.submit("resize-images", target=_python("resize"), timeout_seconds=3600))


def _behind(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.hire(encode=Work(ENDLESS), concurrency=1))
    submit = partial(scene.submit, target=_python("encode"), timeout_seconds=7_200)
    for number in range(BACKLOG):
        scene.before((20 - number) * MINUTE, partial(submit, f"encode-{number}"))


WORKERS = (
    Incident(
        "no worker",
        _unable,
        r"cannot run it: no-worker-2 lacks capability 'gpu'; worker no-worker-1 could, and was lost",
    ),
    Incident("poisoned", _poisoned, r"5 attempts were lost; the last: killed by signal 9 .*, usually out of memory"),
    Incident("lost worker", _lost, r"lost-worker-1\b.*\blost", (Click("link", "Workers"),)),
    Incident(
        "backlog",
        _behind,
        r"can run encode-\d has no room now; the only place of worker backlog-1 is in use; encode-0 runs there since ",
        (),
    ),
)
