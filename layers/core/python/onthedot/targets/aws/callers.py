"""The performers of Lambda targets and of AWS targets, which the stage must allow."""

import base64
import json
import queue
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import Any, Final

from botocore.eventstream import EventStream, ParserError
from botocore.model import OperationModel

from onthedot.core import json_text
from onthedot.core.errors import OnthedotError
from onthedot.core.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.targets.answers import attempt_facts, printable, refused, result_text, stopped, timed_out
from onthedot.targets.aws.clients import Clients, GarbledError, read_body, send
from onthedot.targets.aws.failures import AWS_ERRORS, MAX_ERROR, judge
from onthedot.targets.rules import AllowList
from onthedot.targets.types import AwsTarget, LambdaTarget


def answer_in_time(call: Call, phase: str, work: Callable[[], Answer]) -> Answer:
    """Return the answer of `work`, which runs in a thread, or an answer that it timed out or was stopped.

    The thread runs on after that. `work` must end by its own timeouts, or the number of threads would grow.
    """
    outcome: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.put(error)

    if call.stop.reason is not None:
        return stopped(call)
    threading.Thread(target=run, name="uninterruptible", daemon=True).start()
    try:
        with call.stop.interrupting(lambda: outcome.put(stopped(call))):
            answer = outcome.get(timeout=max(0, call.timeout_ms / 1000))
    except queue.Empty:
        return timed_out(call, phase)
    if isinstance(answer, BaseException):
        raise answer
    return answer


MAX_CONTEXT: Final = 3583
"""The most bytes of an encoded client context that Lambda accepts."""
_TEMPORARY: Final = frozenset(
    # The function is being created, changed or woken up.
    {"ResourceConflictException", "ResourceNotReadyException", "SnapStartNotReadyException"}
)


class LambdaInvoker(Performer):
    """A performer of Lambda targets that the stage allows. It is safe to use from several threads.

    The payload is the event. The run's ids are in the client context, under `custom`. When the time is over, or the
    call is asked to stop, the worker stops waiting, and the function runs on to its own end.
    `make` makes a client that waits this many seconds for an answer and does not retry.
    """

    def __init__(self, *, allow_list: AllowList, make: Callable[[float], Any]) -> None:
        self._allow_list = allow_list
        self._clients = Clients(lambda _service, seconds: make(seconds))

    def perform(self, call: Call) -> Answer:
        target = call.definition.target
        assert isinstance(target, LambdaTarget), "the router passes each performer its own type"
        if not self._allow_list.allows_function(target.function):
            why = f"function {printable(target.function, 200)} is not among the functions that this stage allows"
            return refused(why, "not_allowed")
        return answer_in_time(call, "waiting for the function", lambda: self._invoke(call, target.function))

    def _invoke(self, call: Call, function: str) -> Answer:
        try:
            client = self._clients.client("lambda", call.timeout_ms)
            return _returned(send(client, "Invoke", _invocation(call, function)))
        except AWS_ERRORS as error:
            return judge(call, error, temporary=_TEMPORARY)


def _invocation(call: Call, function: str) -> dict[str, Any]:
    context = base64.b64encode(json_text.to_bytes({"custom": dict(attempt_facts(call))})).decode()
    assert len(context) <= MAX_CONTEXT, "ids are short"
    return {
        "FunctionName": function,
        "InvocationType": "RequestResponse",
        "ClientContext": context,
        "Payload": call.payload,
    }


def _returned(response: Mapping[str, Any]) -> Answer:
    content, kind = read_body(response["Payload"], RESULT_BYTES), response.get("FunctionError")
    return _raised(content, kind) if kind else Answer(ok=True, result=result_text(content))


def _raised(content: bytes, kind: str) -> Answer:
    """Read the error of a function, which is JSON in most runtimes."""
    raised = None
    with suppress(ValueError):
        raised = json.loads(content)
    fields: dict[str, Any] = raised if isinstance(raised, dict) else {}
    message = fields.get("errorMessage") or content.decode("utf-8", errors="replace")
    return Answer(
        ok=False,
        error=printable(str(message), MAX_ERROR) or "the function failed without a message",
        error_class=printable(str(fields.get("errorType") or kind), 60),
    )


STREAM_BYTES: Final = RESULT_BYTES // 2
"""Bytes that are read of a streaming body. As base64, with the JSON around it, they still fit into a result."""
STREAM_EVENTS: Final = 1000
_TOKENS: Final = uuid.UUID("6f6e7468-6564-4f74-8000-746f6b656e73")
"""The namespace of the idempotency tokens. It never changes, since all attempts of a run must compute the same one."""


class InputError(OnthedotError):
    """The input cannot be sent. Another attempt does not help."""


class AwsCaller(Performer):
    """A performer of AWS targets that the stage allows. It is safe to use from several threads.

    Actions and inputs have the names of the API's reference, in the spelling of boto3. Blobs are given as text.
    Where an action takes an idempotency token and the input has none, every attempt of a run sends the same one.
    The result is JSON, with blobs and streams as base64 and times as ISO 8601. When the time is over, or the call is
    asked to stop, the worker stops waiting, but the service may still do the work.
    `make` makes a client of a service that waits this many seconds for an answer and does not retry.
    """

    def __init__(self, *, allow_list: AllowList, make: Callable[[str, float], Any]) -> None:
        self._allow_list = allow_list
        self._clients = Clients(make)

    def perform(self, call: Call) -> Answer:
        target = call.definition.target
        assert isinstance(target, AwsTarget), "the router passes each performer its own type"
        name = printable(f"{target.service} {target.action}", 200)
        if not self._allow_list.allows_call(target.service, target.action):
            return refused(f"{name} is not among the calls that this stage allows", "not_allowed")
        try:
            arguments = _input(call, target)
        except InputError as error:
            return refused(str(error), "bad_input")
        return answer_in_time(call, f"waiting for {name}", lambda: self._request(call, target, arguments))

    def _request(self, call: Call, target: AwsTarget, arguments: dict[str, Any]) -> Answer:
        try:
            client = self._clients.client(target.service, call.timeout_ms)
            if target.action not in client.meta.service_model.operation_names:
                return refused(f"{target.service} has no action {printable(target.action, 100)}", "unknown_action")
            tokens = _tokens(client.meta.service_model.operation_model(target.action), call.run_id)
            response = send(client, target.action, {**tokens, **arguments})
            return Answer(ok=True, result=_as_json(response))
        except AWS_ERRORS as error:
            return judge(call, error)


def _input(call: Call, target: AwsTarget) -> dict[str, Any]:
    if target.input is not None:
        return dict(target.input)
    try:
        payload = json.loads(call.payload or b"null")
    except ValueError as error:
        raise InputError("the payload is not JSON") from error
    if payload is not None and not isinstance(payload, dict):
        raise InputError("the payload is the input, and must be a JSON object")
    return payload or {}


def _tokens(operation: OperationModel, run_id: str) -> dict[str, str]:
    return dict.fromkeys(operation.idempotent_members, str(uuid.uuid5(_TOKENS, run_id)))


def _as_json(response: Mapping[str, Any]) -> str | None:
    content = {name: value for name, value in response.items() if name != "ResponseMetadata"}
    text = json_text.to_text(content, default=_plain)
    return result_text(text.encode("utf-8", errors="replace"))


def _plain(value: Any) -> Any:
    """Express a value of a type that JSON does not have."""
    match value:
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case datetime() | date():
            return value.isoformat()
        case EventStream():
            try:
                return list(islice(value, STREAM_EVENTS))
            except ParserError as error:
                raise GarbledError(str(error)) from error
        case _ if hasattr(value, "read"):
            return base64.b64encode(read_body(value, STREAM_BYTES)).decode()
        case _:
            return str(value)
