"""Performs calls of Lambda functions: invoked, waited for, and their answer kept."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from onthedot.domain.targets.allow_list import AllowList
from onthedot.domain.targets.types import LambdaTarget
from onthedot.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.targets.answers import printable, refused, result_text
from onthedot.targets.attempt import about
from onthedot.targets.aws.clients import Clients, GarbledError, read_body, send
from onthedot.targets.aws.failures import MAX_ERROR, judge
from onthedot.targets.detached import answer_in_time

MAX_CONTEXT: Final = 3583
"""Bytes of a client context, encoded, that Lambda takes."""
_PASSING: Final = frozenset(
    # The function is being made, changed or woken up.
    {"ResourceConflictException", "ResourceNotReadyException", "SnapStartNotReadyException"}
)


class LambdaInvoker(Performer):
    """Calls what a `LambdaTarget` names, if the stage allows it. Safe to use from several threads.

    The payload is the event; the run's ids are in the client context, as `custom`. When the time is over, or the
    call is asked to stop, nobody waits any more: the function itself runs on to its own end.
    `make` makes a client that waits so many seconds for an answer, and does not try again by itself.
    """

    def __init__(self, *, allow_list: AllowList, make: Callable[[float], Any]) -> None:
        self._allow_list = allow_list
        self._clients = Clients(lambda _service, seconds: make(seconds))

    def perform(self, call: Call) -> Answer:
        """Invoke the function and judge what it returns."""
        target = call.definition.target
        assert isinstance(target, LambdaTarget), "the router hands each caller its own kind"
        if not self._allow_list.allows_function(target.function):
            why = f"function {printable(target.function, 200)} is not among those that this stage allows"
            return refused(why, "not_allowed")
        return answer_in_time(call, "waiting for the function", lambda: self._invoke(call, target.function))

    def _invoke(self, call: Call, function: str) -> Answer:
        try:
            client = self._clients.client("lambda", call.timeout_ms)
            return _returned(send(client, "Invoke", _invocation(call, function)))
        except (ClientError, BotoCoreError, GarbledError) as error:
            return judge(call, error, passing=_PASSING)


def _invocation(call: Call, function: str) -> dict[str, Any]:
    return {
        "FunctionName": function,
        "InvocationType": "RequestResponse",
        "ClientContext": _client_context(call),
        "Payload": call.payload,
    }


def _client_context(call: Call) -> str:
    text = base64.b64encode(json.dumps({"custom": dict(about(call))}, separators=(",", ":")).encode()).decode()
    assert len(text) <= MAX_CONTEXT, "ids are short"
    return text


def _returned(response: Mapping[str, Any]) -> Answer:
    content, kind = read_body(response["Payload"], RESULT_BYTES), response.get("FunctionError")
    return _raised(content, kind) if kind else Answer(ok=True, result=result_text(content))


def _raised(content: bytes, kind: str) -> Answer:
    """The function failed: its error is JSON as a rule, whatever its runtime."""
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
