"""The lane `dynamodb` is Amazon's own reader of PartiQL, not another MiniStack."""

from tests.contract.kits.ministack_kit import Clients, MiniStackKit


def code_of_refusal(clients: Clients) -> str:
    """Try to set an attribute whose unquoted name is that of a function, in an item that does not exist."""
    text = f'UPDATE "{MiniStackKit(clients).store()._table}" SET size=? WHERE "pk"=? AND "sk"=?'
    reply = clients.dynamodb.batch_execute_statement(
        Statements=[{"Statement": text, "Parameters": [{"S": value} for value in "abc"]}]
    )
    (answer,) = reply["Responses"]
    return answer["Error"]["Code"]


def test_it_refuses_a_statement_that_the_other_lane_can_read(dynamodb: Clients, ministack: Clients) -> None:
    """If both could read it, the lane would prove little more than MiniStack does."""
    assert code_of_refusal(ministack) == "ConditionalCheckFailed"
    assert code_of_refusal(dynamodb) == "ValidationError"
