from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.kits.two_stages import TwoStages, two_stages


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoStages]:
    with two_stages(tmp_path, monkeypatch) as stages:
        yield stages
