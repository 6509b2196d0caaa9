"""A domain of its own for the API, with a certificate, a path and the record in DNS."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets

from stage_config import StageConfig


def api_domain(stack: Stack, api: apigateway.RestApi, config: StageConfig, name: str, certificate_arn: str) -> None:
    """Serve the API under the domain. Without a hosted zone, the output `DomainTarget` says where it must point."""
    domain = apigateway.DomainName(
        stack,
        "Domain",
        domain_name=name,
        certificate=acm.Certificate.from_certificate_arn(stack, "Certificate", certificate_arn),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
    )
    domain.add_base_path_mapping(api, base_path=config.base_path, stage=api.deployment_stage)
    CfnOutput(stack, "DomainTarget", value=domain.domain_name_alias_domain_name)
    if config.hosted_zone is not None:
        zone = route53.HostedZone.from_hosted_zone_attributes(
            stack, "Zone", hosted_zone_id=config.hosted_zone.zone_id, zone_name=config.hosted_zone.name
        )
        target = route53.RecordTarget.from_alias(targets.ApiGatewayDomain(domain))
        route53.ARecord(stack, "DomainRecord", zone=zone, record_name=f"{name}.", target=target)
