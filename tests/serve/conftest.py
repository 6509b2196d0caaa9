"""The embedded engine of a server in this process, and servers as processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.core.clock import SystemClock
from onthedot.wiring.embedded import Embedded, embedded, owned_database
from tests.builders import SERVER
from tests.served import ServerProcess, a_server


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Embedded]:
    """The engine of a server on a new file. No thread but the writer runs."""
    with owned_database(tmp_path / "onthedot.db") as database:
        made = embedded(database, SystemClock(), SERVER)
        yield made
        made.writer.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server for all tests of this process that do not stop it."""
    with a_server(tmp_path_factory.mktemp("shared")) as server:
        yield server
