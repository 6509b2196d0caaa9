"""DynamoDB and SQS inside this process: clients build, sign and parse as usual, only the network is left out.

The stub remembers items that are put, shows them in their slots, and confirms every other request. It measures its own
CPU time, so that a benchmark can subtract it.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Final

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from onthedot.core.schema import DUE, PARTITION_KEY, SORT_KEY
from onthedot.engines.aws.client import LeanClient

_PROJECTED: Final = (PARTITION_KEY, SORT_KEY, DUE.partition_key, DUE.sort_key, *DUE.included)
_HEADERS: Final = {"content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "A" * 52}

Item = dict[str, Any]


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


class StubbedAws:
    """A stub of DynamoDB and SQS for any number of clients."""

    def __init__(self) -> None:
        self.cpu_ns = 0
        """CPU time that the stub used, not its clients."""
        self.requests = 0
        self._items: dict[tuple[str, str], Item] = {}
        self._slots: dict[str, list[bytes]] = defaultdict(list)
        self._answers: dict[str, Callable[[bytes], bytes]] = {
            "GetItem": self._get_item,
            "PutItem": self._put_item,
            "UpdateItem": self._update_item,
            "BatchGetItem": self._batch_get_item,
            "BatchExecuteStatement": self._batch_execute_statement,
            "Query": self._query,
            "SendMessageBatch": self._send_message_batch,
            "GetQueueAttributes": lambda _: b'{"Attributes":{"ApproximateNumberOfMessages":"0"}}',
        }

    def answer(self, target: str, body: bytes) -> bytes:
        """Return the reply to an operation. `target` is the value of `X-Amz-Target`."""
        began = time.thread_time_ns()
        self.requests += 1
        reply = self._answers[target.rpartition(".")[2]](body)
        self.cpu_ns += time.thread_time_ns() - began
        return reply

    def serve(self, client: Any) -> Any:
        """Answer the requests of this client, and return it."""
        if isinstance(client, LeanClient):
            setattr(client, "_pool", self)  # noqa: B010 - it only calls `urlopen`
            return client
        client.meta.events.register("before-send", self._before_send)
        return client

    def urlopen(self, _method: str, _path: str, body: bytes, headers: dict[str, str], **_: Any) -> SimpleNamespace:
        reply = self.answer(headers["x-amz-target"], body)
        return SimpleNamespace(status=200, headers=_HEADERS, data=reply)

    def _before_send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        body = request.body if isinstance(request.body, bytes) else str(request.body).encode()
        reply = self.answer(target if isinstance(target, str) else target.decode(), body)
        return AWSResponse(request.url, 200, HTTPHeaders.from_dict(_HEADERS), _Body(reply))

    def _put_item(self, body: bytes) -> bytes:
        self.put(json.loads(body)["Item"])
        return b"{}"

    def put(self, item: Item) -> None:
        """Remember an item, and show it in its slot."""
        self._items[_key(item)] = item
        if DUE.partition_key in item:
            shown = {name: item[name] for name in _PROJECTED if name in item}
            self._slots[item[DUE.partition_key]["S"]].append(json.dumps(shown).encode())

    def _get_item(self, body: bytes) -> bytes:
        item = self._items.get(_key(json.loads(body)["Key"]))
        return b"{}" if item is None else json.dumps({"Item": item}).encode()

    def _update_item(self, body: bytes) -> bytes:
        """Update as if the condition were true. `engines/aws/dynamodb/moves.py` names values `:to_…` and `:add_…`."""
        request = json.loads(body)
        item = dict(self._items.get(_key(request["Key"]), request["Key"]))
        for name, value in request["ExpressionAttributeValues"].items():
            kind, _, field = name.removeprefix(":").partition("_")
            if kind in ("to", "add"):
                item[field] = value
        return json.dumps({"Attributes": item}).encode()

    def _batch_get_item(self, body: bytes) -> bytes:
        ((table, wanted),) = json.loads(body)["RequestItems"].items()
        found = [self._items[_key(key)] for key in wanted["Keys"] if _key(key) in self._items]
        return json.dumps({"Responses": {table: found}, "UnprocessedKeys": {}}).encode()

    def _batch_execute_statement(self, body: bytes) -> bytes:
        answers = [b'{"TableName":"onthedot-bench"}'] * body.count(b'"Statement":')
        return b'{"Responses":[' + b",".join(answers) + b"]}"

    def _query(self, body: bytes) -> bytes:
        values = json.loads(body)["ExpressionAttributeValues"]
        entries = self._slots.get(next(iter(values.values()))["S"], [])
        count = b"%d" % len(entries)
        return b'{"Count":' + count + b',"Items":[' + b",".join(entries) + b'],"ScannedCount":' + count + b"}"

    def _send_message_batch(self, body: bytes) -> bytes:
        entries = json.loads(body)["Entries"]
        sent = [{"Id": e["Id"], "MessageId": "0" * 36, "MD5OfMessageBody": "0" * 32} for e in entries]
        return json.dumps({"Successful": sent}).encode()


def _key(item: Item) -> tuple[str, str]:
    return item[PARTITION_KEY]["S"], item[SORT_KEY]["S"]
