"""A page of dead letters with unread runs is refused: the missing runs would look redriven."""

from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from tests.builders import VirtualClock


class ThrottledTable:
    """A client that finds a dead letter in the index and never gets to read it."""

    def query(self, **_: Any) -> dict[str, Any]:
        return {"Items": [{**run_key("job_a"), "finished_at": {"N": "1"}}]}

    def batch_get_item(self, **asked: Any) -> dict[str, Any]:
        return {"Responses": {}, "UnprocessedKeys": asked["RequestItems"]}


def test_dead_letters_that_cannot_be_read_are_unavailable() -> None:
    store = DynamoRunStore(ThrottledTable(), "jobs", VirtualClock())  # type: ignore[arg-type]

    with pytest.raises(Unavailable, match="runs could not be read"):
        store.failed("acme", 10)
