"""IAM checks under the names that AWS uses, where MiniStack's `AUTH=true` uses others. They prove the roles' grants.

AWS checks a batch call under the name of the single call, and PartiQL by the kind of its statements. The local AWS uses
plain HTTP, so the check must treat it as TLS to pass TLS-only policies. The infra tests assert those policies.
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
    """Make MiniStack use the names of AWS. The launcher passes its checked functions for reading and replacing."""
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
    """Return the first statement. A batch of onthedot never mixes kinds or tables."""
    return str(json.loads(body)["Statements"][0]["Statement"])
