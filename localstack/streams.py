"""The stream of the table as in DynamoDB: it includes writes by PartiQL, and reading it delays no queue.

MiniStack writes no stream record for a PartiQL statement. It also invokes the function of a stream in the thread that
polls the queues, so every run would wait for the publisher. And it knows no tumbling windows, whose events name their
shard.
"""

import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

POLL_SECONDS = 0.1
_PAUSE_SECONDS = 1.0
_SHARD = "shardId-00000000000000000000-00000000"
"""The id of the one shard that each stream of MiniStack has."""


def adjust_streams(with_parameters: Any, replace_value: Any) -> None:
    """Adjust the streams. The launcher passes its checked functions for reading and replacing."""
    dynamodb = import_module("ministack.services.dynamodb")
    insert = with_parameters(dynamodb, "_partiql_insert", ["table", "parsed"])
    update = with_parameters(dynamodb, "_partiql_update", ["table", "parsed", "data"])
    set_item = with_parameters(dynamodb, "_set_item", ["table", "pk_val", "sk_val", "item"])
    emit = with_parameters(
        dynamodb, "_emit_stream_event", ["table_name", "event_name", "old_item", "new_item", "replicate"]
    )
    under_way = threading.local()

    def noting(statement: Callable[..., Any]) -> Callable[..., Any]:
        """Note the table of a statement. Both statements end in `_set_item`, which sees the item before and after."""

        def run(table: Any, parsed: Any, *data: Any) -> Any:
            under_way.table = parsed["table"]
            try:
                return statement(table, parsed, *data)
            finally:
                under_way.table = None

        return run

    def set_and_emit(table: Any, pk_val: Any, sk_val: Any, item: Any) -> Any:
        name = getattr(under_way, "table", None)
        before = table["items"].get(pk_val, {}).get(sk_val)
        done = set_item(table, pk_val, sk_val, item)
        if name is not None:
            emit(name, "MODIFY" if before else "INSERT", before, item)
        return done

    # They keep the parameters and defaults of the functions that they replace, because `with_parameters` checks them.
    def partiql_insert(table: Any, parsed: Any) -> Any:
        return noting(insert)(table, parsed)

    def partiql_update(table: Any, parsed: Any, data: Any = None) -> Any:
        return noting(update)(table, parsed, data)

    replace_value(dynamodb, "_partiql_insert", partiql_insert)
    replace_value(dynamodb, "_partiql_update", partiql_update)
    replace_value(dynamodb, "_set_item", set_and_emit)
    _poll_beside(with_parameters, replace_value)


def _poll_beside(with_parameters: Any, replace_value: Any) -> None:
    lambda_svc = import_module("ministack.services.lambda_svc")
    poll = with_parameters(lambda_svc, "_poll_dynamodb_streams", [])
    execute = with_parameters(lambda_svc, "_execute_function", ["func", "event"])

    def execute_function(func: Any, event: Any) -> Any:
        return execute(func, with_window(event))

    replace_value(lambda_svc, "_execute_function", execute_function)

    def keep_polling() -> None:
        while True:
            try:
                worked = poll()
            except Exception:  # like the loop of MiniStack: log, and try again
                lambda_svc.logger.exception("stream poller")
                time.sleep(_PAUSE_SECONDS)
                continue
            if not worked:
                time.sleep(POLL_SECONDS)

    def nothing_here() -> bool:
        return False

    replace_value(lambda_svc, "_poll_dynamodb_streams", nothing_here)
    threading.Thread(target=keep_polling, daemon=True, name="onthedot-streams").start()


def with_window(event: Any) -> Any:
    """Return the event as a source with a tumbling window sends it, if it is a batch of a stream of a table.

    MiniStack does not keep which source has a window, so each batch of a stream gets the fields. Others ignore them.
    """
    records = event.get("Records") if isinstance(event, dict) else None
    if not records or not isinstance(records[0], dict) or records[0].get("eventSource") != "aws:dynamodb":
        return event
    return {**event, "shardId": _SHARD, "state": {}, "isFinalInvokeForWindow": False, "isWindowTerminatedEarly": False}
