"""Calls at chosen times that need nothing of the product. Their lateness tells how busy the machine is just then.

A test that measures lateness compares it with that of a control in the same moment, on the clock of the target that
both call. On the stack a control is a plain function, which a delayed message starts as it starts a worker. Beside a
server it is a process that sleeps until then.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count

from tests.e2e.functions import Clients, new_function, new_queue, new_role
from tests.e2e.listener import Listener

ON_TIME_MS = 2_000
NAME = "e2e-control"
CALL = """
import json, time, urllib.request

def call(url, at):
    time.sleep(max(at / 1000 - time.time(), 0))
    urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=60).read()

def handle(event, context):
    for record in event["Records"]:
        call(**json.loads(record["body"]))
"""
_numbers = count()


class Control:
    """A call at this time, in epoch milliseconds."""

    def __init__(self, listener: Listener, begin: Callable[[str, int], object], at: int) -> None:
        self._listener, self._at = listener, at
        self._path = f"/control/{next(_numbers)}"
        begin(listener.url + self._path, at)

    def late(self) -> int:
        """Return how many milliseconds late the call arrived, once it did."""
        return self._listener.wait_for(self._path)[0].at - self._at


def is_on_time(late: int, controls: Sequence[Control], within: int = ON_TIME_MS) -> bool:
    """Say whether something was never early, and late by two seconds at most, or by twice what a control was."""
    return 0 <= late < max(within, *(2 * control.late() for control in controls))


def by_a_process(url: str, at: int) -> None:
    program = [sys.executable, "-c", f"{CALL}\ncall({url!r}, {at})"]
    threading.Thread(target=subprocess.run, args=[program], daemon=True).start()


class Function:
    """The function of a stack's controls, and its queue."""

    def __init__(self, client: Clients) -> None:
        self._sqs = client("sqs")
        self._queue, arn = new_queue(client, NAME)
        new_function(client, NAME, CALL, new_role(client, NAME, arn), Timeout=30)
        client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName=NAME, BatchSize=1)

    def begin(self, url: str, at: int) -> None:
        """Send the message of a control. SQS delays by whole seconds, as it does those of runs."""
        delay = max(at - time.time_ns() // 1_000_000, 0) // 1000
        self._sqs.send_message(
            QueueUrl=self._queue, MessageBody=json.dumps({"url": url, "at": at}), DelaySeconds=min(delay, 900)
        )
