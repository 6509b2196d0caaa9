"""Two syntheses for the whole folder: a stage to keep, and the local one. Each takes seconds."""

import pytest

from tests.infra.kit import Assembly, synthesize


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(
        tmp_path_factory.mktemp("prod"),
        stage="prod",
        region="eu-west-1",
        account="123456789012",
        shards="32",
        lookahead="2",
        worker_concurrency="50",
        warm_throughput="12000:40000",
    )


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(tmp_path_factory.mktemp("local"), stage="local", local="true")
