"""The detection of recursive loops through SQS as on AWS. MiniStack detects loops of nested Invoke calls only.

AWS counts in the part `Lineage` of the trace header. Lambda gives the header to a function in `_X_AMZN_TRACE_ID`, boto3
sends it with each call of the function, SQS keeps it with the message, and the event source reads it there. The chain
goes on for about 16 invocations of one function. Then Lambda refuses the next one unless the function says
`RecursiveLoop: Allow`, and the message goes to the dead-letter queue by the redrive policy of its queue.

Here the count of each function is exact. A batch counts as its message with the highest count.
"""

import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any
from urllib.parse import unquote

HEADER = "x-amzn-trace-id"
ATTRIBUTE = "AWSTraceHeader"
PART = "Lineage="
FUNCTION = "AWS::Lambda::Function"

Lineage = dict[str, int]
"""How often each function, by the hash of its name, was invoked in this chain."""

_invoked: ContextVar[Mapping[str, int] | None] = ContextVar("onthedot_lineage", default=None)
_sent: ContextVar[str] = ContextVar("onthedot_trace_header", default="")


def lineage_of(header: str) -> Lineage:
    """Return the counts in a trace header. It has none if the sender is not a function."""
    [text, *_] = [part.removeprefix(PART) for part in header.split(";") if part.startswith(PART)] or [""]
    pairs = (entry.rpartition(":") for entry in text.split(",") if entry)
    return {name: int(count) for name, _, count in pairs}


def highest(lineages: list[Lineage]) -> Lineage:
    names = {name for lineage in lineages for name in lineage}
    return {name: max(lineage.get(name, 0) for lineage in lineages) for name in names}


def invoked_again(lineage: Mapping[str, int], function: str) -> Lineage:
    name = _hash(function)
    return {**lineage, name: lineage.get(name, 0) + 1}


def with_lineage(header: str, lineage: Mapping[str, int]) -> str:
    entries = ",".join(f"{name}:{count}" for name, count in sorted(lineage.items()))
    return f"{header};{PART}{entries}"


def _hash(function: str) -> str:
    return f"{zlib.crc32(function.encode()):08x}"


def adjust_recursion(with_parameters: Any, replace_value: Any) -> None:
    """Count hops through SQS. The launcher passes its checked functions for reading and replacing."""
    _keep_headers_in_messages(with_parameters, replace_value)
    _refuse_long_chains(with_parameters, replace_value)
    _know_the_property(with_parameters)


def _keep_headers_in_messages(with_parameters: Any, replace_value: Any) -> None:
    sqs = import_module("ministack.services.sqs")
    handle = with_parameters(sqs, "handle_request", ["method", "path", "headers", "body", "query_params"])
    attributes_of = with_parameters(sqs, "_build_send_sys_attrs", ["now", "sys_attrs_input"])

    async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, query_params: Any) -> Any:
        _sent.set(unquote(headers.get(HEADER, "")))
        return await handle(method, path, headers, body, query_params)

    def build_send_sys_attrs(now: float, sys_attrs_input: dict[str, Any]) -> dict[str, str]:
        kept = {ATTRIBUTE: _sent.get()} if _sent.get() else {}
        return {**kept, **attributes_of(now, sys_attrs_input)}

    replace_value(sqs, "handle_request", handle_request)
    replace_value(sqs, "_build_send_sys_attrs", build_send_sys_attrs)


def _refuse_long_chains(with_parameters: Any, replace_value: Any) -> None:
    lambda_svc = import_module("ministack.services.lambda_svc")
    parameters = ["esm", "func_rec", "event", "batch", "queue_url", "queue_name"]
    run = with_parameters(lambda_svc, "_run_sqs_batch", parameters)
    refusal_of = with_parameters(lambda_svc, "_recursive_loop_drop", ["name", "func", "depth"])
    header_of = with_parameters(lambda_svc, "_xray_trace_id_for_invocation", ["config", "inbound_trace_header"])

    def run_sqs_batch(esm: Any, func_rec: Any, event: Any, *others: Any) -> None:
        function = esm["FunctionName"]
        headers = [record["attributes"].get(ATTRIBUTE, "") for record in event["Records"]]
        lineage = highest([lineage_of(header) for header in headers])
        if refusal_of(function, func_rec, invoked_again(lineage, function)[_hash(function)]) is not None:
            # The messages stay hidden for their visibility timeout, and the redrive policy counts this delivery.
            esm["LastProcessingResult"] = "FAILED"
            return
        token = _invoked.set(lineage)
        try:
            run(esm, func_rec, event, *others)
        finally:
            _invoked.reset(token)

    def xray_trace_id_for_invocation(config: dict[str, Any], inbound_trace_header: str | None = None) -> str:
        """Return a header for each invocation, as on AWS. MiniStack makes none for a function without X-Ray."""
        traced = {**config, "TracingConfig": {"Mode": "Active"}}
        lineage = invoked_again(_invoked.get() or {}, config.get("FunctionName", ""))
        return with_lineage(header_of(traced, inbound_trace_header), lineage)

    replace_value(lambda_svc, "_run_sqs_batch", run_sqs_batch)
    replace_value(lambda_svc, "_xray_trace_id_for_invocation", xray_trace_id_for_invocation)


def _know_the_property(with_parameters: Any) -> None:
    """Make CloudFormation apply `RecursiveLoop`. MiniStack ignores this property of a function."""
    provisioners = import_module("ministack.services.cloudformation.provisioners")
    functions = import_module("ministack.services.lambda_svc")._functions
    create = with_parameters(provisioners, "_lambda_create", ["logical_id", "props", "stack_name"])
    updated = ["physical_id", "old_props", "new_props", "stack_name", "logical_id"]
    update = with_parameters(provisioners, "_lambda_update", updated)
    handlers = provisioners._RESOURCE_HANDLERS[FUNCTION]
    if (handlers["create"], handlers["update"]) != (create, update):
        raise RuntimeError(f"MiniStack makes {FUNCTION} with other functions than those that are adjusted here")

    def apply(made: Any, props: Mapping[str, Any]) -> Any:
        functions[made[0]]["recursive_loop"] = props.get("RecursiveLoop", "Terminate")
        return made

    def lambda_create(logical_id: str, props: Any, stack_name: str) -> Any:
        return apply(create(logical_id, props, stack_name), props)

    def lambda_update(physical_id: str, old_props: Any, new_props: Any, stack_name: str, logical_id: Any = None) -> Any:
        return apply(update(physical_id, old_props, new_props, stack_name, logical_id), new_props)

    handlers.update(create=lambda_create, update=lambda_update)
