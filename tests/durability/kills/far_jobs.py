"""Jobs that an earlier process accepted minutes ago. They wait in fire slots, where a tick finds them."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.clock import SystemClock, VirtualClock, format_instant
from onthedot.serve.server import LOCAL_USER
from onthedot.wiring.embedded import embedded, owned_database
from tests.builders import SERVER
from tests.durability.kills.clients import Acknowledged

AGO_MS: Final = 600_000


def accept_far_jobs(path: Path, url: str, numbers: Sequence[int], seconds: float) -> list[Acknowledged]:
    """Accept jobs by the API at a time ten minutes ago. They are due within the next so many seconds."""
    now, chance = SystemClock().now(), random.Random(7)
    with owned_database(path) as database:
        clock = VirtualClock(now - AGO_MS)
        parts = embedded(database, clock, SERVER)

        def accept(number: int) -> Acknowledged:
            due_at = now + round(chance.uniform(2, max(seconds, 3)) * 1000)
            body = {"callback_url": f"{url}/{number}", "at": format_instant(due_at), "retry": {"max_retries": 10}}
            request = Request("POST", "/v1/jobs", body=json.dumps(body).encode(), principal=LOCAL_USER)
            response = handle(parts.engine, request)
            assert response.status == 202, response.body
            assert response.body["status"] == "PENDING", "this job is near"
            return Acknowledged(number, response.body["job_id"], due_at, now)

        accepted = parts.writer.run(lambda: [accept(number) for number in numbers])
        parts.writer.close()
    return accepted
