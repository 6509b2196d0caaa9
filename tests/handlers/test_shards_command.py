"""`onthedot shards`, on the table of the handler tests."""

import json
import re

from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.core.clock import SystemClock
from onthedot.core.shards import UNUSED_AFTER, ShardStore
from onthedot.core.slots import Deployment, slot_shard
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.store_around import announce
from tests.builders import VirtualClock, a_run
from tests.handlers.conftest import TABLE, Cloud

LONG_AGO_MS = (UNUSED_AFTER + 5) * 60_000
MANY = Deployment(shards=32, lookahead=3, history_days=7)


def shards(*arguments: str, table: str = TABLE) -> Result:
    return CliRunner().invoke(main, ["shards", *arguments, "--table", table, "--region", "us-east-1"])


def use(cloud: Cloud, count: int, before_ms: int = 0) -> None:
    announce(ShardStore(cloud.stored), count, SystemClock().now() - before_ms)


def test_the_history_is_shown(cloud: Cloud) -> None:
    assert "No job was stored" in shards().stdout
    use(cloud, 32, LONG_AGO_MS)
    use(cloud, 16)
    header, *steps, said = shards().stdout.splitlines()
    assert [line.split("\t")[0] for line in (header, *steps)] == ["SHARDS", "16", "32"]
    assert re.findall(r"\d+", said) == ["32", "16"]
    shown = json.loads(shards("--json").stdout)
    assert (shown["served"], shown["in_use"]) == (32, 16)
    assert [set(step) for step in shown["steps"]] == [{"shards", "since", "last_used"}] * 2


def test_empty_shards_are_retired(cloud: Cloud) -> None:
    use(cloud, 32, LONG_AGO_MS)
    use(cloud, 16)
    result = shards("--retire")
    assert (result.exit_code, "Shards 16 to 31 are retired." in result.stderr) == (0, True), result.output
    assert json.loads(shards("--json").stdout)["served"] == 16


def test_shards_that_were_used_within_a_day_stay(cloud: Cloud) -> None:
    use(cloud, 32)
    use(cloud, 16)
    result = shards("--retire", "--json")
    assert (result.exit_code, "Nothing to retire" in result.stderr) == (0, True), result.output
    assert json.loads(result.stdout)["served"] == 32


def test_records_in_old_shards_are_counted_and_keep_them(cloud: Cloud) -> None:
    use(cloud, 32, LONG_AGO_MS)
    use(cloud, 16)
    clock = VirtualClock()
    store = DynamoRunStore(cloud.client("dynamodb"), TABLE, clock)
    runs = [a_run(clock, MANY).due_in(3_600).stored_in(store) for _ in range(30)]
    left = sum(slot_shard(run.slot or "") >= 16 for run in runs)
    result = shards("--retire")
    assert result.exit_code == 1
    assert f"shards 16 to 31 still have {left} records, the last one due at 20" in result.stderr.replace("\n", " ")
    assert json.loads(shards("--json").stdout)["served"] == 32


def test_a_table_that_is_not_there_is_an_error_in_a_sentence(cloud: Cloud) -> None:
    result = shards(table="nowhere")
    assert result.exit_code == 1
    assert "nowhere: " in result.stderr
    assert "Traceback" not in result.stderr
