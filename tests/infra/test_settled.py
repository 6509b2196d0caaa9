"""The times that the deletion of a tenant relies on are those of the deployed functions."""

from onthedot.access.tenants import SETTLED_MS
from tests.infra.kit import Assembly


def test_a_deleted_tenant_is_waited_for_longer_than_anything_writes_for_it(prod: Assembly) -> None:
    def timeout_of(name: str) -> int:
        return int(prod.named("AWS::Lambda::Function", "FunctionName", name)["Timeout"])

    [authorizer] = prod.properties("AWS::ApiGateway::Authorizer")
    last_call = authorizer["AuthorizerResultTtlInSeconds"] + timeout_of("authorizer") + timeout_of("api")
    assert max(last_call, timeout_of("dispatcher")) * 1000 < SETTLED_MS
