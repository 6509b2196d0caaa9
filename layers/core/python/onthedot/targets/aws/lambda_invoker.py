"""The performer of Lambda targets: it invokes a function and waits for its answer."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from onthedot.domain import compact_json
from onthedot.domain.targets.allow_list import AllowList
from onthedot.domain.targets.types import LambdaTarget
from onthedot.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.targets.answers import printable, refused, result_text
from onthedot.targets.attempt_facts import attempt_facts
from onthedot.targets.aws.clients import Clients, read_body, send
from onthedot.targets.aws.failures import AWS_ERRORS, MAX_ERROR, judge
from onthedot.targets.aws.uninterruptible import answer_in_time

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
        """Invoke the function and judge its answer."""
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
    return {
        "FunctionName": function,
        "InvocationType": "RequestResponse",
        "ClientContext": _client_context(call),
        "Payload": call.payload,
    }


def _client_context(call: Call) -> str:
    text = base64.b64encode(compact_json.to_bytes({"custom": dict(attempt_facts(call))})).decode()
    assert len(text) <= MAX_CONTEXT, "ids are short"
    return text


def _returned(response: Mapping[str, Any]) -> Answer:
    content, kind = read_body(response["Payload"], RESULT_BYTES), response.get("FunctionError")
    return _raised(content, kind) if kind else Answer(ok=True, result=result_text(content))


def _raised(content: bytes, kind: str) -> Answer:
    """Return the answer of a function that failed. Its error is JSON in most runtimes."""
    try:
        raised = json.loads(content)
    except ValueError:
        raised = None
    fields: dict[str, Any] = raised if isinstance(raised, dict) else {}
    message = fields.get("errorMessage") or content.decode("utf-8", errors="replace")
    return Answer(
        ok=False,
        error=printable(str(message), MAX_ERROR) or "the function failed without a message",
        error_class=printable(str(fields.get("errorType") or kind), 60),
    )
