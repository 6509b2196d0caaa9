"""IAM as AWS enforces it, where MiniStack's `AUTH=true` asks for other names: for proving the functions' grants.

AWS checks batch calls under the names of their single calls, and PartiQL by the kind of its statements. And the local
AWS speaks plain HTTP, so TLS-only policies must take it for TLS; that they are there, the infra tests assert.
"""

import json
import re
from importlib import import_module
from typing import Any

BATCHES = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}
PARTIQL = "dynamodb:BatchExecuteStatement"
KINDS = {"INSERT": "dynamodb:PartiQLInsert", "UPDATE": "dynamodb:PartiQLUpdate"}
_TABLE = re.compile(r'^(INSERT INTO|UPDATE) "([^"]+)"')


def adjust_iam(with_parameters: Any, replace_value: Any) -> None:
    """Give MiniStack AWS's names. The launcher passes its own checked ways to look and to replace."""
    actions = import_module("ministack.core.iam_actions")
    evaluator = import_module("ministack.core.iam_evaluator")
    request = ["service", "method", "path", "headers", "body", "query_params"]
    name_of = with_parameters(actions, "extract_iam_action", request)
    tables_of = with_parameters(actions, "dynamodb_resource_arns", ["body", "region", "account_id"])
    value_of = with_parameters(evaluator, "_resolve_condition_key", ["key", "ctx"])

    def extract_iam_action(service: str, method: str, path: str, headers: Any, body: bytes, query_params: Any) -> Any:  # noqa: PLR0917
        action = name_of(service, method, path, headers, body, query_params)
        if action == PARTIQL:
            return KINDS[_first_statement(body).split(" ", 1)[0]]
        return BATCHES.get(action, action)

    def dynamodb_resource_arns(body: bytes, region: str, account_id: str) -> list[str]:
        if b'"Statements"' not in body:
            return list(tables_of(body, region, account_id))
        found = _TABLE.match(_first_statement(body))
        return [f"arn:aws:dynamodb:{region}:{account_id}:table/{found[2]}"] if found else []

    def resolve_condition_key(key: str, ctx: Any) -> Any:
        return "true" if key.lower() == "aws:securetransport" else value_of(key, ctx)

    replace_value(actions, "extract_iam_action", extract_iam_action)
    replace_value(actions, "dynamodb_resource_arns", dynamodb_resource_arns)
    replace_value(evaluator, "_resolve_condition_key", resolve_condition_key)


def _first_statement(body: bytes) -> str:
    """We never mix kinds or tables in one batch."""
    return str(json.loads(body)["Statements"][0]["Statement"])
