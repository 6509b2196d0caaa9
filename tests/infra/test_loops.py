"""Lambda stops a chain through SQS after about 16 invocations, except of a function that says it may loop."""

from typing import Any

import pytest

from tests.infra.kit import Assembly, by_action, short, statements_of

FUNCTION = "AWS::Lambda::Function"


def invoked_by(assembly: Assembly, function: str) -> set[str]:
    """The queues whose messages invoke the function."""
    sources = assembly.properties("AWS::Lambda::EventSourceMapping")
    return {short(source["EventSourceArn"]) for source in sources if source["FunctionName"] == {"Ref": function}}


def sends_to(assembly: Assembly, properties: dict[str, Any]) -> set[str]:
    """The queues to which the function's role may send."""
    return by_action(statements_of(assembly, properties["Role"]["Fn::GetAtt"][0])).get("sqs:SendMessage", set())


def following(assembly: Assembly) -> dict[str, set[str]]:
    """Each function with the functions that its messages can invoke."""
    functions = {logical_id: found["Properties"] for logical_id, found in assembly.of_type(FUNCTION).items()}
    return {
        sender: {receiver for receiver in functions if invoked_by(assembly, receiver) & sends_to(assembly, properties)}
        for sender, properties in functions.items()
    }


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    while more := {after for name in found | {start} for after in graph[name]} - found:
        found |= more
    return found


@pytest.mark.parametrize("stage", ["prod", "local", "fargate"])
def test_exactly_the_functions_whose_messages_can_come_back_may_loop(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly = request.getfixturevalue(stage)
    graph = following(assembly)
    in_loops = {name for name in graph if name in reachable(graph, name)}
    functions = assembly.of_type(FUNCTION)
    allowed = {name for name, found in functions.items() if found["Properties"].get("RecursiveLoop") == "Allow"}
    assert allowed == in_loops
    names = {functions[name]["Properties"]["FunctionName"].rsplit("-", 1)[-1] for name in allowed}
    assert names == {"worker", "dispatcher"}
