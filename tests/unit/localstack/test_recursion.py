"""The hops of a chain through SQS, as its trace header counts them. `tests/e2e/test_recursion.py` plays chains."""

import pytest

from localstack.recursion import highest, invoked_again, lineage_of, with_lineage

ROOT_ID = "Root=1-5f84c7a1-aaaaaaaaaaaaaaaaaaaaaaaa;Parent=bbbbbbbbbbbbbbbb;Sampled=0"


def test_each_function_has_its_own_count_and_a_batch_the_highest() -> None:
    once = invoked_again({}, "one")
    assert lineage_of(with_lineage(ROOT_ID, invoked_again(once, "one"))) == dict.fromkeys(once, 2)
    both = highest([once, invoked_again(invoked_again({}, "one"), "two"), invoked_again(once, "one")])
    assert sorted(both.values()) == [1, 2]


@pytest.mark.parametrize("header", ["", ROOT_ID, "Self=1;Lineage="])
def test_a_message_that_no_function_sent_begins_a_chain(header: str) -> None:
    assert lineage_of(header) == {}
