"""Clients that create jobs at a steady rate, and try again, with the same idempotency key, until they get an answer."""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from tests.durability.kills.servers import TOKEN

CLIENTS: Final = 8


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A job that a client got a 202 for."""

    number: int
    job_id: str
    due_at: int
    acknowledged_at: int


@dataclass
class Load:
    """The jobs of all clients."""

    port: int
    url: str
    jobs: int
    seconds: float
    """The time over which the jobs are created."""
    ahead: Callable[[random.Random], float]
    """Choose how many seconds ahead a job is due."""
    seed: int
    acknowledged: list[Acknowledged] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    again: int = 0
    """Number of requests that got no answer."""

    def start(self) -> None:
        self._began = time.monotonic()
        self._threads = [threading.Thread(target=self._work, args=[number], daemon=True) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    @property
    def is_over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, client: int) -> None:
        chance = random.Random(f"{self.seed}/{client}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for number in range(client, self.jobs, CLIENTS):
            pause = self._began + number * self.seconds / self.jobs - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            due_at = _now() + round(self.ahead(chance) * 1000)
            self._create(connection, number, due_at)
        connection.close()

    def _create(self, connection: http.client.HTTPConnection, number: int, due_at: int) -> None:
        """Create a job. A server that was killed may have stored it or not, so the request is repeated as it is."""
        at = datetime.fromtimestamp(due_at / 1000, UTC).isoformat(timespec="milliseconds")
        body = json.dumps({"callback_url": f"{self.url}/{number}", "at": at, "retry": {"max_retries": 10}})
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": f"job-{self.seed}-{number}"}
        while True:
            try:
                connection.request("POST", "/v1/jobs", body, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.again += 1
                time.sleep(0.02)
                continue
            if response.status == 202:
                self.acknowledged.append(Acknowledged(number, json.loads(content)["job_id"], due_at, _now()))
                return
            if response.status != 503:
                self.refused.append(f"{response.status} {content.decode()[:200]}")
                return
            time.sleep(0.02)


def _now() -> int:
    return time.time_ns() // 1_000_000
