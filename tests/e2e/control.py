"""Calls at chosen times that need nothing of the product. Their lateness tells how busy the machine is just then.

A test that measures lateness compares it with that of a control in the same moment, on the clock of the target that
both call. On the stack a control is a plain function that a message starts, and that writes to a table twice, as a
worker does. Beside a server it is a process that sleeps until then.
"""

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
import time, urllib.request

def call(url):
    urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=60).read()
"""
FUNCTION = (
    CALL
    + """
import boto3
table = boto3.resource("dynamodb").Table("e2e-control")

def handle(event, context):
    for record in event["Records"]:
        for name in ("start", "end"):
            table.put_item(Item={"pk": record["messageId"], "name": name})
        call(record["body"])
"""
)
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
    sleep = f"time.sleep(max({at} / 1000 - time.time(), 0))"
    program = [sys.executable, "-c", f"{CALL}\n{sleep}\ncall({url!r})"]
    threading.Thread(target=subprocess.run, args=[program], daemon=True).start()


class Function:
    """The function of a stack's controls, with its queue and its table."""

    def __init__(self, client: Clients) -> None:
        self._sqs = client("sqs")
        self._queue, arn = new_queue(client, NAME)
        key = {"AttributeName": "pk"}
        made = client("dynamodb").create_table(
            TableName=NAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{**key, "KeyType": "HASH"}],
            AttributeDefinitions=[{**key, "AttributeType": "S"}],
        )
        role = new_role(client, NAME, arn, made["TableDescription"]["TableArn"])
        ours = client("lambda").get_function(FunctionName="onthedot-local-worker")["Configuration"]
        layers = [layer["Arn"] for layer in ours["Layers"]]
        new_function(client, NAME, FUNCTION, role, Timeout=60, Layers=layers)
        client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName=NAME, BatchSize=1)

    def begin(self, url: str, at: int) -> None:
        timer = threading.Timer(at / 1000 - time.time(), self._send, [url])
        timer.daemon = True
        timer.start()

    def _send(self, url: str) -> None:
        self._sqs.send_message(QueueUrl=self._queue, MessageBody=url)
