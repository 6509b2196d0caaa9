"""The work source of a worker that has only a URL and a token."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from onthedot import __version__
from onthedot.api.times import parse_instant
from onthedot.client.client import Client
from onthedot.client.errors import ClientError, Forbidden, RateLimited, ServerError, Unauthorized
from onthedot.client.errors import Unavailable as NoAnswerNow
from onthedot.client.requests import Operation, Retries, as_it_is
from onthedot.client.transport import HttpTransport
from onthedot.core import json_text
from onthedot.core.choices import Priority, Requirements
from onthedot.core.errors import OnthedotError, Unavailable, WorkerNotFound
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.pools import worker_needs
from onthedot.core.ports import Answer, Call
from onthedot.core.progress import ProgressReport
from onthedot.core.records import Definition
from onthedot.targets import types as targets
from onthedot.worker.work_source import LeasedTasks, NotAllowed, Task, WorkSource
from onthedot.workers.lost import LEASE_REPLY_MS
from onthedot.workers.records import Load, Resources
from onthedot.workers.registrations import Offer

TRIES: Final = 3
CALL_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 3.0
_RETRIES: Final = Retries(TRIES, first=0.3, most=0.6, longest=1.0, failures=True)
"""A worker that waits for long may lose its leases. Its loop comes again, with longer pauses."""
_HEADERS: Final = {"User-Agent": f"onthedot-worker/{__version__}"}


class RestClient:
    """A client of the API at a URL. Safe to use from several threads."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        def client(seconds: float) -> Client:
            return Client(token=token, transport=HttpTransport(url, seconds, connect=_CONNECT_SECONDS), sleep=sleep)

        self._client = cache(client)

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float = CALL_SECONDS, tries: int = TRIES) -> Any:
        """Send a POST and return the JSON of the reply. Pass `tries=1` for a call that must not happen twice.

        Raise Unavailable for a failure that passes, NotAllowed when the API refuses the token, and ClientError for
        every other refusal.
        """
        # A result may have halves of surrogate pairs, which no UTF-8 has.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        retries = _RETRIES._replace(tries=tries)
        operation = Operation("POST", path, as_it_is, body=content, headers=_HEADERS, retries=retries)
        try:
            return self._client(seconds).call(operation)
        except ClientError as error:
            if (known := _for_a_worker(error)) is None:
                raise
            raise known from error


def _for_a_worker(error: ClientError) -> OnthedotError | None:
    match error:
        case Unauthorized():
            return NotAllowed("the token is not valid, or no longer valid; set ONTHEDOT_TOKEN to a valid one")
        case Forbidden():
            needed = "a worker, an operator or an admin"
            return NotAllowed(f"the token's role does not allow this call; set ONTHEDOT_TOKEN to the token of {needed}")
        case NoAnswerNow() | RateLimited() | ServerError():
            return Unavailable(str(error) if error.status is None else f"the API answered {error.status}: {error}")
    return None


ERROR_CHARACTERS: Final = 2_000
CLASS_CHARACTERS: Final = 60


def task_from(view: Mapping[str, Any], begun_at: float) -> Task:
    """Raise KeyError, TypeError or ValueError when this version cannot read the lease."""
    target = targets.from_json(view["target"])
    required = view["requirements"]
    requirements = Requirements(
        tuple(required["capabilities"]), required["cpu"], required["memory_mb"], required["storage_mb"]
    )
    definition = Definition(target, requirements=requirements, timeout_seconds=int(view["timeout_seconds"]))
    call = Call(
        run_id=view["execution_id"],
        job_id=view["job_id"],
        attempt=int(view["attempt"]),
        fire_time=parse_instant(view["fire_time"]),
        definition=definition,
        # Byte by byte the text that the API signed.
        payload=json_text.to_bytes(view["payload"]),
        timeout_ms=definition.timeout_seconds * 1000,
        signature=dict(view["signature"]),
        traceparent=str(view["traceparent"]),
        started_at=parse_instant(view["started_at"]),
    )
    return Task(
        run_id=call.run_id,
        attempt=call.attempt,
        priority=Priority(view["priority"]),
        needs=worker_needs(target, requirements, definition.timeout_seconds),
        alone=bool(view["alone"]),
        lease_end=begun_at + float(view["lease_seconds"]),
        perform=lambda target, stop, progress: target.perform(replace(call, stop=stop, progress=progress)),
        # Every call about the run sends its sealed receipt back.
        source_note={"receipt": view["receipt"], "lease_seconds": float(view["lease_seconds"])},
    )


def report_of(task: Task, answer: Answer, worker_id: str) -> dict[str, Any]:
    report = {
        "status": answer.outcome.upper(),
        "attempt": task.attempt,
        "worker_id": worker_id,
        "receipt": task.source_note["receipt"],
        "result": answer.result if answer.ok else None,
        "error": None if answer.ok else (answer.error or "failed without giving a reason")[:ERROR_CHARACTERS],
        "error_class": answer.error_class and answer.error_class[:CLASS_CHARACTERS],
        "retryable": None if answer.ok else answer.retryable,
        "retry_after_seconds": None if answer.retry_after_ms is None else answer.retry_after_ms / 1000,
    }
    return _without_none(report)


LEASE_SECONDS: Final = LEASE_REPLY_MS / 1000
"""Time for the reply to a lease call, besides the time for which the API waits at the worker's wish.

The API may wait the last two seconds until a run is due, and starts up to ten runs.
"""
_FENCED: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})
"""Replies that say that the run no longer belongs to this attempt."""
_CUT_CHARACTERS: Final = 500

log = logging.getLogger(__name__)


class RestWorkSource(WorkSource):
    notices_work = False

    def __init__(self, api: RestClient, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._monotonic = monotonic
        self._worker_id = ""
        self._ask_now = threading.Event()
        self._wait_seconds = 0.0
        """How long a lease lets the API wait for a run. 0: the API does not wait, so the worker asks at intervals."""
        self._has_waited = False
        """Whether the last lease waited for long, so that the next one need not be delayed."""

    def register(self, offer: Offer) -> str:
        body = {**asdict(offer), "capabilities": sorted(offer.capabilities)}
        try:
            registered = self._api.post("/v1/workers/register", _without_none(body))
        except ClientError as refusal:
            raise NotAllowed(f"the API refused to register this worker: {refusal}") from refusal
        self._worker_id = str(registered["worker_id"])
        self._wait_seconds = float(registered["longest_wait_seconds"])
        return self._worker_id

    def send_heartbeat(self, load: Load) -> None:
        body = asdict(load)
        body["ended"] = body.pop("recent")
        self._post("heartbeat", body)

    def lease(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        """Ask the API for runs. An API that can wait replies when there is one, or when this worker stops."""
        body: dict[str, Any] = {
            "max": most,
            "priorities": [priority.value for priority in priorities],
            "free": {"cpu": free.cpu, "memory_mb": free.memory_mb, "storage_mb": free.storage_mb},
            "idle": idle,
        }
        if self._wait_seconds:
            body["wait_seconds"] = self._wait_seconds
        self._has_waited = False
        asked_at = self._monotonic()
        # Only one try: the runs in a lost reply stay leased until their leases end, and a second try would lease
        # further runs.
        reply = self._post("lease", body, seconds=LEASE_SECONDS + self._wait_seconds, tries=1)
        took = self._monotonic() - asked_at
        self._has_waited = bool(self._wait_seconds) and took >= self._wait_seconds / 2
        # The leases begin when the API has waited. It cannot have waited for longer than its reply took.
        begun_at = asked_at + min(reply["waited_ms"] / 1000, took)
        if reply["runs"] and asked_at + took - begun_at > LEASE_SECONDS:
            raise Unavailable("the reply to a lease call came too late; its runs will be delivered again")
        return LeasedTasks(list(_tasks(reply["runs"], begun_at)), bool(reply["alone_waiting"]))

    def wait(self, seconds: float) -> bool:
        """Wait for this time, or until `pause` or the end of a task, which may have woken a run at a gate."""
        if not self._has_waited:
            self._ask_now.wait(seconds)
        self._ask_now.clear()
        return True

    def pause(self) -> None:
        self._ask_now.set()

    def close(self) -> None:
        """Nothing is under way: runs arrive only with the reply to `lease`."""

    def extend_lease(self, task: Task, progress: ProgressReport | None = None) -> LeaseExtended | Fenced:
        body = {
            "attempt": task.attempt,
            "worker_id": self._worker_id,
            "receipt": task.source_note["receipt"],
            "progress": None if progress is None else {"fraction": progress.fraction, "text": progress.text},
        }
        asked_at = self._monotonic()
        try:
            reply = self._api.post(f"/v1/executions/{task.run_id}/heartbeat", _without_none(body))
        except ClientError as refusal:
            return _fenced_or_raise(refusal)
        return LeaseExtended(asked_at + task.source_note["lease_seconds"], bool(reply["cancel_requested"]))

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        try:
            self._complete(task, answer)
        except ClientError as refusal:
            if refusal.status in _FENCED:
                return Fenced(str(refusal))
            return self._report_shortened(task, answer, refusal)
        return None

    def _report_shortened(self, task: Task, answer: Answer, refusal: ClientError) -> Fenced | None:
        """Report with a shorter result, since the API most likely refused its size. The work need not be repeated."""
        result = answer.result and f"{answer.result[:_CUT_CHARACTERS]}… (cut: {refusal})"
        try:
            self._complete(task, replace(answer, result=result))
        except ClientError as again:
            return _fenced_or_raise(again)
        return None

    def _complete(self, task: Task, answer: Answer) -> None:
        self._api.post(f"/v1/executions/{task.run_id}/complete", report_of(task, answer, self._worker_id))
        self._ask_now.set()

    def _post(self, action: str, body: Mapping[str, Any], **how: Any) -> Any:
        try:
            return self._api.post(f"/v1/workers/{self._worker_id}/{action}", body, **how)
        except ClientError as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise WorkerNotFound(self._worker_id) from refusal
            raise NotAllowed(f"the API refused this worker's {action} call: {refusal}") from refusal


def _tasks(views: Sequence[Mapping[str, Any]], begun_at: float) -> Iterator[Task]:
    """Yield the leases that this version can read. The attempts of others are lost."""
    for view in views:
        try:
            yield task_from(view, begun_at)
        except (KeyError, TypeError, ValueError):
            log.exception("unreadable_lease: run %s; is this worker older than the API?", view.get("execution_id"))


def _fenced_or_raise(refusal: ClientError) -> Fenced:
    """Return Fenced for an attempt that is over. Raise Unavailable otherwise, so that the call is tried again."""
    if refusal.status in _FENCED:
        return Fenced(str(refusal))
    raise Unavailable(f"the API refused the call: {refusal}") from refusal


def _without_none(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
