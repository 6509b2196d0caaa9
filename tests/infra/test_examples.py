"""Synthesize every context value that the documentation or a help text gives as an example."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from onthedot.cli.deploying.checks import BOOTSTRAP_VERSION, SMALLEST, bootstrap_parameter, demands_of
from onthedot.cli.deploying.deploy import deploy
from onthedot.cli.deploying.destroy import PARTS
from tests.infra.kit import Assembly, synthesize
from tests.unit.project.pages import FENCE, PAGES, SPAN, prose_of, text_of

pytestmark = pytest.mark.slow
FORM = ("name=value", "key=value", "KEY=VALUE")
"""Values that stand for any."""
NEW_ACCOUNT = 10
"""Calls of functions at a time in a new account."""
PLACE = {"stage": "prod", "region": "us-east-1", "account": "123456789012"}
"""The region of the page. Certificates and topics must be in the region of their stage."""


def values_of(words: list[str]) -> list[str]:
    """The values after `-c`, and the stage."""
    given = [value for option, value in pairwise(words) if option == "-c" and value not in FORM]
    return given + [f"stage={stage}" for option, stage in pairwise(words) if option == "--stage"]


def command_from(text: str) -> list[str]:
    """The words of the command at the beginning of a text. It ends with a line in which no quote is open."""
    command = ""
    for line in text.split("\n"):
        command += f"{line}\n"
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        if not line.endswith("\\"):
            return words
    raise AssertionError(f"the quotes of this command do not end: {text[:200]}")


def commands_in(text: str) -> Iterator[list[str]]:
    """The values of every `onthedot deploy` in a code block or a help text."""
    for found in re.finditer(r"onthedot deploy --stage", text):
        yield values_of(command_from(text[found.start() :]))


def spans_with_values(page: str) -> Iterator[list[str]]:
    """The values of every span such as `-c shards=4`."""
    for span in SPAN.findall(prose_of(page)):
        if span.startswith("-c ") and (values := values_of(shlex.split(span))):
            yield values


def snippets_of_cdk_json() -> Iterator[dict[str, Any]]:
    for page in PAGES:
        for block in FENCE.findall(text_of(page)):
            if block.startswith("```json") and '"context"' in block:
                yield dict(json.loads(block.split("\n", 1)[1].rsplit("```", 1)[0])["context"])


def examples_of_the_table() -> dict[str, str]:
    """The examples in the table of context values: a list in JSON, or the span after `such as`."""
    table = text_of("docs/deploy.md").split("## Context values")[1].split("\n## ")[0]
    found: dict[str, str] = {}
    for row in table.splitlines():
        cells = [cell.strip() for cell in row.split(" | ")]
        if len(cells) == 3 and (name := re.fullmatch(r"\| `(\w+)`", cells[0])):
            example = re.search(r"`(\[.*?\])`|such as `([^`]+)`", cells[2])
            default = re.fullmatch(r"`([^`]+)`", cells[1])
            if example or default:
                found[name[1]] = next(part for part in (*(example or default).groups(),) if part)  # type: ignore[union-attr]
    return found


@cache
def commands() -> list[list[str]]:
    blocks = [block for page in PAGES for block in FENCE.findall(text_of(page))]
    return [values for text in (*blocks, deploy.help or "") for values in commands_in(text)]


@cache
def spans() -> list[list[str]]:
    return [values for page in PAGES if page != "CHANGELOG.md" for values in spans_with_values(page)]


def synthesized(folder: Path, *values: str, **others: Any) -> Assembly:
    return synthesize(folder, **{**PLACE, **others, **dict(value.split("=", 1) for value in values)})


@pytest.fixture(autouse=True)
def users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which a user gives the command, with the image of the Fargate example."""
    (tmp_path / "my-image").mkdir()
    (tmp_path / "my-image" / "Dockerfile").write_text("FROM onthedot\n")
    monkeypatch.chdir(tmp_path)


def test_every_command_and_every_span_with_values_can_be_deployed(tmp_path: Path) -> None:
    different = {" ".join(values): values for values in commands() + spans()}
    for number, values in enumerate(different.values()):
        assert synthesized(tmp_path / str(number), *values).stacks, values


def test_the_examples_of_the_table_can_be_deployed_together(tmp_path: Path) -> None:
    """With the page's example of a domain, without which a hosted zone makes no sense."""
    [domain] = [values for values in commands() if any(value.startswith("domain_name=") for value in values)]
    assert synthesized(tmp_path, *domain, **examples_of_the_table()).stacks


def test_snippets_of_cdk_json_can_be_deployed(tmp_path: Path) -> None:
    for number, context in enumerate(snippets_of_cdk_json()):
        assert synthesized(tmp_path / str(number), **context).stacks


def test_examples_are_found_at_all() -> None:
    """Guard the tests above: they must find the examples that are there today."""
    assert any(value.startswith("pools=") for values in commands() for value in values)
    assert ["publish_all_changes=true"] in spans()
    assert {"stage", "aws_calls", "worker_weights", "warm_throughput"} <= set(examples_of_the_table())
    assert (
        len(commands())
        >= sum(text_of(page).count("onthedot deploy --stage") for page in ("docs/workers.md", "docs/deploy.md")) - 1
    )


def test_the_smallest_stage_fits_a_new_account(tmp_path: Path) -> None:
    """The check of the concurrency offers these values, and so does the page."""
    values = values_of(shlex.split(SMALLEST))
    assert values in spans()
    demands = demands_of(synthesized(tmp_path, *values).directory)
    assert demands.concurrency <= NEW_ACCOUNT


def test_the_demands_of_a_stage_are_read_from_its_templates(fargate: Assembly, prod: Assembly) -> None:
    assert demands_of(prod.directory).concurrency > prod.config.worker_concurrency + prod.config.long_concurrency
    assert not demands_of(prod.directory).docker
    assert demands_of(prod.directory).fargate_cpus == 0
    # Five tasks of one CPU, and ten of half a CPU.
    assert demands_of(fargate.directory).fargate_cpus == 5 * 1 + 10 * 0.5
    assert demands_of(fargate.directory).docker


def test_the_bootstrap_is_the_one_that_the_stacks_need(prod: Assembly) -> None:
    artifacts = json.loads((prod.directory / "manifest.json").read_text())["artifacts"].values()
    stacks = [one["properties"] for one in artifacts if one["type"] == "aws:cloudformation:stack"]
    needed = [part["requiresBootstrapStackVersion"] for one in stacks for part in (one, one["lookupRole"])]
    assert max(needed) == BOOTSTRAP_VERSION
    assert {one["bootstrapStackVersionSsmParameter"] for one in stacks} == {bootstrap_parameter({})}


def test_destroy_deletes_every_stack_before_the_stacks_that_it_uses(fargate: Assembly) -> None:
    assert sorted(PARTS) == sorted(fargate.stacks)
    artifacts = json.loads((fargate.directory / "manifest.json").read_text())["artifacts"]
    for position, part in enumerate(PARTS):
        used = artifacts[fargate.config.name(part)]["dependencies"]
        assert not {fargate.config.name(earlier) for earlier in PARTS[:position]} & set(used)
