"""The timer of a server: one tick a minute, and an audit an hour. Runs that are near do not wait for it."""

import logging
import threading
import uuid
from typing import Final

from onthedot.core.ports import Deadline, Tick
from onthedot.core.shards import ServedShards
from onthedot.core.slots import BUCKET_MS
from onthedot.core.tick import dispatch_due
from onthedot.jobs.audit import audit_due_jobs
from onthedot.jobs.remove_payloads import remove_unused_payloads
from onthedot.wiring.embedded import Embedded

_LOG: Final = logging.getLogger(__name__)
TICK_MS: Final = 50_000
"""The longest tick. The next one goes on."""
LONGEST_PAUSE_MS: Final = 30_000
"""The longest wait without a look at the clock, which may be set."""
AUDIT_TURNS: Final = 60
AUDIT_MS: Final = 10_000
"""The longest part of an audit. A server that is stopped waits for it. An audit that is cut counts `out_of_time`."""
FAILED_SECONDS: Final = 1.0


class Ticks:
    """A thread that does a tick at its start and at the beginning of each minute."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded
        self._clock = embedded.engine.clock
        self._shards = ServedShards(embedded.engine.shards, embedded.engine.deployment.shards)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ticks", daemon=True)
        self._audit_thread: threading.Thread | None = None
        self._turns = 0

    def start(self) -> None:
        """Begin the ticks."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no further tick, and wait for the current one, and for an audit."""
        self._stopping.set()
        for thread in (self._thread, self._audit_thread):
            if thread is not None and thread.is_alive():
                thread.join()

    def _work(self) -> None:
        while not self._stopping.is_set():
            next_at = self._clock.now() // BUCKET_MS * BUCKET_MS + BUCKET_MS
            try:
                is_done = self._turn()
            except Exception:  # noqa: BLE001 (whatever is wrong, the ticks must go on)
                # The next turn does the work of this one.
                _LOG.exception("tick_failed")
                self._stopping.wait(FAILED_SECONDS)
                continue
            if is_done:
                self._wait_until(next_at)

    def _turn(self) -> bool:
        """Do one tick. Return whether it did all that was due."""
        now = self._clock.now()
        tick = Tick(0, tuple(range(self._shards.count())), now, uuid.uuid4().hex)
        counts = dispatch_due(self._embedded.engine, self._embedded.progress, tick, Deadline.after(now, TICK_MS))
        _LOG.debug("dispatched", extra=dict(counts))
        self._turns += 1
        if self._turns % AUDIT_TURNS == 0:
            self._begin_audit()
        return not counts["out_of_time"]

    def _begin_audit(self) -> None:
        """Audit in a thread of its own, because ticks must not wait for it. At most one audit is under way."""
        if self._audit_thread is None or not self._audit_thread.is_alive():
            self._audit_thread = threading.Thread(target=self._audit, name="audit", daemon=True)
            self._audit_thread.start()

    def _audit(self) -> None:
        """Check that recent fire times have outcomes, and remove payloads that no job uses."""
        try:
            self._audit_all()
        except Exception:  # noqa: BLE001 (the next audit looks at the same jobs)
            _LOG.exception("audit_failed")

    def _audit_all(self) -> None:
        engine = self._embedded.engine
        shards = range(self._shards.count())
        counts = audit_due_jobs(engine, shards, Deadline.after(self._clock.now(), AUDIT_MS))
        _LOG.info("audited", extra=dict(counts))
        removed = remove_unused_payloads(engine, self._embedded.blobs, Deadline.after(self._clock.now(), AUDIT_MS))
        _LOG.info("payloads", extra=dict(removed))

    def _wait_until(self, instant: int) -> None:
        """Wait, and look at the clock now and then: when it is set back, the instant may be hours away."""
        while not self._stopping.is_set() and 0 < (left := instant - self._clock.now()) <= 2 * BUCKET_MS:
            self._stopping.wait(min(left, LONGEST_PAUSE_MS) / 1000)
