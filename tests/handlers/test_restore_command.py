"""`onthedot restore`: its options. `tests/contract/stores/test_restore.py` restores a table."""

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.wiring import aws
from tests.handlers.conftest import TABLE

STREAM = "arn:aws:dynamodb:us-east-1:123456789012:table/x/stream/2026"


def restore(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["restore", "--stage", "test", *arguments])


@pytest.fixture(autouse=True)
def asked(stage: None, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []

    def restored(table: str, name: str, *_: object) -> tuple[str, str]:
        calls.append((table, name))
        return name, STREAM

    monkeypatch.setattr(aws, "restored_table", restored)
    return calls


def test_it_prints_the_command_that_lets_the_stage_use_the_table(asked: list[tuple[object, ...]]) -> None:
    result = restore("--name", "onthedot-test-jobs-2", "--to", "2026-03-01T12:00:00Z")
    assert asked == [(TABLE, "onthedot-test-jobs-2")]
    assert f"-c table_name=onthedot-test-jobs-2 -c table_stream_arn={STREAM}" in result.stdout


def test_a_name_that_the_stacks_would_refuse_is_refused_before_the_restore(asked: list[tuple[object, ...]]) -> None:
    result = restore("--name", "jobs-2")
    assert result.exit_code == 2
    assert "--name" in result.stderr
    assert "onthedot-test-" in result.stderr
    assert asked == []


@pytest.mark.parametrize("time", ["yesterday", "2026-03-01T12:00:00"])
def test_a_time_without_an_offset_is_refused(asked: list[tuple[object, ...]], time: str) -> None:
    result = restore("--to", time)
    assert (result.exit_code, asked) == (2, [])
    assert "--to" in result.stderr
