"""A client of `onthedot serve`: one `POST /v1/jobs` for each job, on one kept connection for each caller."""

import json
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

from benchmarks.peers.programs.calls import NOW, answer_requests, store_url

url = urlsplit(store_url())
HEADERS = {"Authorization": f"Bearer {url.password}", "Content-Type": "application/json"}
mine = threading.local()


def create(number: int, due: int) -> None:
    job = {"target": {"type": "python", "handler": "noop"}, "payload": [number, due]}
    connection = _connection()
    connection.request("POST", "/v1/jobs", json.dumps(job if due == NOW else job | {"at": due / 1000}), HEADERS)
    reply = connection.getresponse()
    body = reply.read()
    if reply.status != 202:
        raise RuntimeError(f"POST /v1/jobs answered {reply.status}: {body[:300]!r}")


def _connection() -> HTTPConnection:
    if not hasattr(mine, "connection"):
        mine.connection = HTTPConnection(str(url.hostname), url.port, timeout=60)
    connection: HTTPConnection = mine.connection
    return connection


if __name__ == "__main__":
    answer_requests(create)
