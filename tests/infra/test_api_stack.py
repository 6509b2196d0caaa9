"""The REST API: its authorizer, the shape of its refusals, and its logs."""

import json
from typing import Any

from tests.infra.kit import Assembly, resolve

OPEN = {("GET", "/v1/health"), ("GET", "/openapi.json"), ("GET", "/console"), ("GET", "/console/{proxy+}")}
GUARDED = {("ANY", "/{proxy+}"), ("ANY", "/v1/{proxy+}")}


def path_of(resources: dict[str, Any], reference: dict[str, Any]) -> str:
    """The path of a resource, by walking up to the root."""
    if "Ref" not in reference:
        return ""
    properties = resources[reference["Ref"]]["Properties"]
    return f"{path_of(resources, properties['ParentId'])}/{properties['PathPart']}"


def methods(assembly: Assembly) -> dict[tuple[str, str], dict[str, Any]]:
    resources = assembly.of_type("AWS::ApiGateway::Resource")
    found = assembly.properties("AWS::ApiGateway::Method")
    return {(method["HttpMethod"], path_of(resources, method["ResourceId"])): method for method in found}


def stage(assembly: Assembly) -> dict[str, Any]:
    [properties] = assembly.properties("AWS::ApiGateway::Stage")
    return properties


def test_only_four_gets_do_without_a_token(prod: Assembly) -> None:
    kinds = {route: method["AuthorizationType"] for route, method in methods(prod).items()}
    assert kinds == dict.fromkeys(OPEN, "NONE") | dict.fromkeys(GUARDED, "CUSTOM")
    guarded = [method for route, method in methods(prod).items() if route in GUARDED]
    assert {method["AuthorizerId"]["Ref"][:15] for method in guarded} == {"TokenAuthorizer"}


def test_the_authorizer_sees_the_header_and_a_revoked_token_is_refused_within_a_minute(prod: Assembly) -> None:
    [authorizer] = prod.properties("AWS::ApiGateway::Authorizer")
    assert authorizer["Type"] == "TOKEN"
    assert authorizer["IdentitySource"] == "method.request.header.Authorization"
    assert authorizer["AuthorizerResultTtlInSeconds"] == 50


def test_the_stage_is_throttled(prod: Assembly) -> None:
    settings = {one["ResourcePath"] + " " + one["HttpMethod"]: one for one in stage(prod)["MethodSettings"]}
    limits = {name: (one["ThrottlingRateLimit"], one["ThrottlingBurstLimit"]) for name, one in settings.items()}
    assert limits.pop("/* *") == (200, 400)
    assert limits.pop("/~1console~1{proxy+} GET") == (50, 200), "the console's first load asks for some 50 files"
    assert limits == dict.fromkeys(("/~1v1~1health GET", "/~1openapi.json GET", "/~1console GET"), (20, 40)), (
        "a flood of calls without a token costs little"
    )
    assert {one["LoggingLevel"] for one in settings.values()} == {"ERROR"}


def test_access_logs_are_json_without_a_header_or_a_body(prod: Assembly) -> None:
    line = stage(prod)["AccessLogSetting"]["Format"]
    assert {"request_id", "principal", "path", "status", "latency_ms"} <= set(json.loads(line))
    assert "header" not in line.lower()
    assert "body" not in line.lower()


def test_no_log_group_is_kept_for_ever(prod: Assembly, fargate: Assembly) -> None:
    """Also that of API Gateway's own logs, which it would make itself."""
    groups = [group for assembly in (prod, fargate) for group in assembly.properties("AWS::Logs::LogGroup")]
    assert {group["RetentionInDays"] for group in groups} == {30}
    names = [resolve(group["LogGroupName"]) for group in groups]
    assert [name for name in names if name.startswith("API-Gateway-Execution-Logs_<Api")]


def test_what_the_gateway_refuses_has_the_shape_of_every_error(prod: Assembly) -> None:
    found = {}
    for response in prod.properties("AWS::ApiGateway::GatewayResponse"):
        template = response["ResponseTemplates"]["application/json"]
        assert template.isascii(), "CloudFormation makes question marks of anything else"
        error = json.loads(template.replace("$context.error.messageString", '"its own words"'))["error"]
        assert set(error) == {"code", "message", "details"}
        assert error["details"] == []
        found[response["ResponseType"]] = (response.get("StatusCode"), error["code"])
        is_bearer = response.get("ResponseParameters") == {"gatewayresponse.header.WWW-Authenticate": "'Bearer'"}
        assert is_bearer == (response["ResponseType"] == "UNAUTHORIZED")
    assert found == {
        "UNAUTHORIZED": ("401", "unauthorized"),
        "ACCESS_DENIED": ("403", "forbidden"),
        "MISSING_AUTHENTICATION_TOKEN": ("404", "not_found"),
        "THROTTLED": ("429", "too_many_requests"),
        "REQUEST_TOO_LARGE": ("413", "too_large"),
        "DEFAULT_4XX": (None, "bad_request"),
        "DEFAULT_5XX": (None, "internal"),
    }


def test_the_api_is_served_under_the_path_of_its_domain(other: Assembly) -> None:
    [domain] = other.properties("AWS::ApiGateway::DomainName")
    assert domain["DomainName"] == "jobs.example.com"
    assert domain["RegionalCertificateArn"] == "arn:aws:acm:eu-west-1:123456789012:certificate/1"
    assert (domain["EndpointConfiguration"], domain["SecurityPolicy"]) == ({"Types": ["REGIONAL"]}, "TLS_1_2")
    [mapping] = other.properties("AWS::ApiGateway::BasePathMapping")
    assert mapping["BasePath"] == "sched"
    assert set(other.of_type("AWS::ApiGateway::RestApi")) == {mapping["RestApiId"]["Ref"]}
    assert set(other.of_type("AWS::ApiGateway::Stage")) == {mapping["Stage"]["Ref"]}
    [record] = other.properties("AWS::Route53::RecordSet")
    assert (record["HostedZoneId"], record["Name"], record["Type"]) == ("Z0123456789ABC", "jobs.example.com.", "A")
    assert record["AliasTarget"]["DNSName"]["Fn::GetAtt"][1] == "RegionalDomainName"


def test_outputs_and_function_know_the_url_on_the_domain(other: Assembly, prod: Assembly) -> None:
    outputs = other.template("api")["Outputs"]
    assert outputs["ApiUrl"]["Value"] == "https://jobs.example.com/sched/"
    assert outputs["DomainTarget"]["Value"]["Fn::GetAtt"][1] == "RegionalDomainName"
    assert prod.properties("AWS::ApiGateway::DomainName") == []
    for assembly, url in ((other, "https://jobs.example.com/sched"), (prod, "")):
        assert assembly.variables("api")["ONTHEDOT_PUBLIC_URL"] == url
