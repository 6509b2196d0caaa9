"""Task protection on ECS: a task with a long run is not stopped by scale-in or by a deployment.

ECS chooses which tasks it stops. It gives each of them SIGTERM and two minutes, so a run that ends within the worker's
grace needs no protection. While a run with a longer timeout is there, the worker asks the agent of its own task for
protection, which ECS takes back by itself after `PROTECTED_MINUTES` without a renewal.

A deployment cannot end while a task of the version before is protected, and CloudFormation gives up after three hours.
So a worker that was protected for an hour on end takes no more runs until its long ones have ended. Then it is without
protection for a minute, in which ECS can stop it, and works on.

No failure of the agent stops any work: without protection a task is stopped as any other.
"""

import json
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from onthedot.client.transport import HttpTransport, NoAnswer
from onthedot.core.errors import Unavailable
from onthedot.worker.tasks import RunningTasks

AGENT_VARIABLE: Final = "ECS_AGENT_URI"
PROTECTED_MINUTES: Final = 30
RENEW_SECONDS: Final = 600.0
RETRY_SECONDS: Final = 30.0
SETTLE_SECONDS: Final = 30.0
"""How long no long run must have been there before the protection ends, so that it does not end between two runs."""
ON_END_SECONDS: Final = 3600.0
"""The longest protection without a rest."""
REST_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 2.0
_CALL_SECONDS: Final = 5.0
_STATE: Final = "/task-protection/v1/state"

log = logging.getLogger(__name__)


class EcsAgent:
    def __init__(self, uri: str) -> None:
        self._http = HttpTransport(uri, _CALL_SECONDS)

    def protect(self) -> None:
        self._put({"ProtectionEnabled": True, "ExpiresInMinutes": PROTECTED_MINUTES})

    def release(self) -> None:
        self._put({"ProtectionEnabled": False})

    def _put(self, wanted: dict[str, Any]) -> None:
        try:
            reply = self._http.send(
                "PUT", _STATE, {}, json.dumps(wanted).encode(), {"Content-Type": "application/json"}
            )
            answer = json.loads(reply.body)
        except (NoAnswer, ValueError) as error:
            raise Unavailable(f"the ECS agent: {error}") from error
        # A refusal may have the status 200. It has `failure` or `error` in place of `protection`.
        protection = answer.get("protection") if isinstance(answer, dict) else None
        if not isinstance(protection, dict) or protection.get("ProtectionEnabled") is not wanted["ProtectionEnabled"]:
            raise Unavailable(f"the ECS agent answered {reply.status}: {json.dumps(answer)[:500]}")


class TaskProtection:
    """The protection of this worker's task. `look` decides and calls the agent, in a thread of its own."""

    def __init__(
        self, agent: EcsAgent, running_tasks: RunningTasks, grace: float, monotonic: Callable[[], float]
    ) -> None:
        self._agent = agent
        self._running_tasks = running_tasks
        self._grace = grace
        self._monotonic = monotonic
        self._protected_since: float | None = None
        self._renew_at = 0.0
        self._last_long_run = 0.0
        self._rests_until = 0.0
        self._failing = False
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._look_on, name="task-protection", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    @property
    def is_resting(self) -> bool:
        """Whether the worker must lease nothing, so that ECS can stop its task soon or now."""
        now, since = self._monotonic(), self._protected_since
        return now < self._rests_until or (since is not None and now - since >= ON_END_SECONDS)

    def look(self) -> None:
        now = self._monotonic()
        if any(running.task.needs.seconds > self._grace for running in self._running_tasks.running()):
            self._last_long_run = now
            if self._renew_at <= now:
                self._protect(now)
        elif self._protected_since is not None and (self.is_resting or now - self._last_long_run >= SETTLE_SECONDS):
            self._release(now)

    def _protect(self, now: float) -> None:
        if self._done(self._agent.protect):
            self._protected_since = now if self._protected_since is None else self._protected_since
            self._renew_at = now + RENEW_SECONDS
        else:
            self._renew_at = now + RETRY_SECONDS

    def _release(self, now: float) -> None:
        if self.is_resting:
            self._rests_until = now + REST_SECONDS
        # A protection that could not be released ends by itself. Until then the worker works on.
        self._done(self._agent.release)
        self._protected_since, self._renew_at = None, 0.0

    def _done(self, call: Callable[[], None]) -> bool:
        try:
            call()
        except Unavailable as error:
            if not self._failing:
                log.warning("task_protection_failed: %s", error)
            self._failing = True
        else:
            self._failing = False
        return not self._failing

    def _look_on(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:
                log.exception("task_protection_failed")
            self._running_tasks.wake()
