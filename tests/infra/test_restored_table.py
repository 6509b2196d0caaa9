"""A stage that uses a restored table, and may switch to it and back."""

import json
from pathlib import Path
from typing import Any

import pytest

from context_values import BadContext
from tests.infra.kit import STACKS, Assembly, synthesize

NAME = "onthedot-prod-jobs-20260301-120000"
STREAM = f"arn:aws:dynamodb:eu-west-1:123456789012:table/{NAME}/stream/2026-03-01T12:00:00.000"
WHERE = {"stage": "prod", "region": "eu-west-1", "account": "123456789012"}


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    directory = tmp_path_factory.mktemp("restored")
    return synthesize(directory, **WHERE, table_name=NAME, table_stream_arn=STREAM)


def exports(assembly: Assembly) -> set[str]:
    outputs = assembly.template("data").get("Outputs", {}).values()
    return {output["Export"]["Name"] for output in outputs if "Export" in output}


def test_every_part_uses_the_restored_table_and_none_the_old_one(restored: Assembly) -> None:
    for function in restored.properties("AWS::Lambda::Function"):
        variables: dict[str, Any] = function["Environment"]["Variables"]
        assert variables.get("ONTHEDOT_TABLE", NAME) == NAME
    sources = restored.properties("AWS::Lambda::EventSourceMapping")
    assert [one["EventSourceArn"] for one in sources if "StartingPosition" in one] == [STREAM, STREAM]
    others = {stack: json.dumps(restored.template(stack)) for stack in STACKS if stack != "data"}
    assert [stack for stack, text in others.items() if "onthedot-prod-data:ExportsOutputRefJobs" in text] == []


def test_the_old_table_and_what_others_import_of_it_stay(restored: Assembly, prod: Assembly) -> None:
    assert restored.named("AWS::DynamoDB::Table", "TableName", "jobs")
    assert exports(restored) == exports(prod)


@pytest.mark.parametrize("alone", [{"table_name": NAME}, {"table_stream_arn": STREAM}], ids=["name", "stream"])
def test_the_table_and_its_stream_are_given_together(tmp_path: Path, alone: dict[str, str]) -> None:
    with pytest.raises(BadContext, match="table_name and table_stream_arn"):
        synthesize(tmp_path, **WHERE, **alone)
