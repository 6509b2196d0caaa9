"""The desk of a worker that has only a URL and a token."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Any, Final

from onthedot.domain.errors import Unavailable, WorkerNotFound
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.records import Load, Resources
from onthedot.ports import Answer
from onthedot.use_cases.workers.worker_registry import Offer
from onthedot.worker.rest_client import ApiRefused, RestClient
from onthedot.worker.rest_tasks import report_of, task_from
from onthedot.worker.work_source import Fenced, LeasedTasks, LeaseExtended, NotAllowed, Task, WorkSource

LEASE_SECONDS: Final = 20.0
"""A call that leases may hold a run for the last two seconds before its time, and start ten of them."""
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})
_KEPT_OF_CUT: Final = 500

log = logging.getLogger(__name__)


class RestWorkSource(WorkSource):
    """Works on the REST API."""

    notices_work = False

    def __init__(self, api: RestClient, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._monotonic = monotonic
        self._offer: Offer | None = None
        self._worker_id = ""
        self._rested = threading.Event()

    def register(self, offer: Offer) -> str:
        wanted: dict[str, Any] = {
            "pool": offer.pool,
            "capabilities": sorted(offer.capabilities),
            "resources": asdict(offer.resources),
            "host": offer.host,
        }
        if offer.worker_id is not None:
            wanted["worker_id"] = offer.worker_id
        try:
            self._worker_id = str(self._api.post("/v1/workers/register", wanted)["worker_id"])
        except ApiRefused as refusal:
            raise NotAllowed(f"the API does not take this worker: {refusal}") from refusal
        self._offer = replace(offer, worker_id=self._worker_id)
        return self._worker_id

    def beat(self, load: Load) -> None:
        body = {
            "running": list(load.running),
            "used": asdict(load.used),
            "stopping": load.stopping,
            "stopped": load.stopped,
        }
        try:
            self._of_worker("heartbeat", body)
        except WorkerNotFound:
            if self._offer is not None:
                self.register(self._offer)
                self._of_worker("heartbeat", body)

    def take(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        wanted = {
            "max": most,
            "priorities": [priority.value for priority in priorities],
            "free": {"cpu": free.cpu, "memory_mb": free.memory_mb},
            "idle": idle,
        }
        asked_at = self._monotonic()
        # Asked once: when the answer is lost, so is what it leased, until those leases end.
        given = self._of_worker("lease", wanted, seconds=LEASE_SECONDS, tries=1)
        return LeasedTasks(list(_tasks(given["runs"], asked_at)), bool(given["alone_waiting"]))

    def wait(self, seconds: float) -> bool:
        self._rested.wait(seconds)
        self._rested.clear()
        return True

    def rest(self) -> None:
        self._rested.set()

    def close(self) -> None:
        """Nothing comes that was not asked for."""

    def keep(self, task: Task) -> LeaseExtended | Fenced:
        body = {"attempt": task.attempt, "worker_id": self._worker_id, "receipt": task.source_note.receipt}
        asked_at = self._monotonic()
        try:
            kept = self._api.post(f"/v1/executions/{task.run_id}/heartbeat", _without_none(body))
        except ApiRefused as refusal:
            return _fenced(refusal)
        return LeaseExtended(asked_at + task.source_note.lease_seconds, bool(kept["cancel_requested"]))

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        try:
            self._complete(task, answer)
        except ApiRefused as refusal:
            if refusal.status in _GONE:
                return Fenced(str(refusal))
            return self._report_less(task, answer, refusal)
        return None

    def _report_less(self, task: Task, answer: Answer, refusal: ApiRefused) -> Fenced | None:
        """The work is done: a result that is refused, for its size most likely, is cut rather than done again."""
        result = answer.result and f"{answer.result[:_KEPT_OF_CUT]}… (cut: {refusal})"
        try:
            self._complete(task, replace(answer, result=result))
        except ApiRefused as again:
            return _fenced(again)
        return None

    def _complete(self, task: Task, answer: Answer) -> None:
        self._api.post(f"/v1/executions/{task.run_id}/complete", report_of(task, answer, self._worker_id))

    def _of_worker(self, what: str, body: Mapping[str, Any], **how: Any) -> Any:
        try:
            return self._api.post(f"/v1/workers/{self._worker_id}/{what}", body, **how)
        except ApiRefused as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise WorkerNotFound(self._worker_id) from refusal
            raise NotAllowed(f"the API refuses this worker's {what}: {refusal}") from refusal


def _tasks(views: Sequence[Mapping[str, Any]], asked_at: float) -> Iterator[Task]:
    """What a newer API says and we cannot read costs that run an attempt, and the others nothing."""
    for view in views:
        try:
            yield task_from(view, asked_at)
        except (KeyError, TypeError, ValueError):
            log.exception("unreadable_lease: run %s; is this worker older than the API?", view.get("execution_id"))


def _fenced(refusal: ApiRefused) -> Fenced:
    """What is stale or gone is not ours; what is refused otherwise may be heard later, or its lease ends."""
    if refusal.status in _GONE:
        return Fenced(str(refusal))
    raise Unavailable(f"refused: {refusal}") from refusal


def _without_none(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
