"""The network of tasks: a new one that costs nothing while no task runs, or an existing one.

Workers only make outgoing calls: to the queues, the table, the API and the targets of jobs. So a new network has public
subnets with an internet gateway, and no NAT gateway, which would cost more by the hour than the whole idle system. A
security group refuses incoming calls. An existing network has its own route to the internet, and its tasks get no
public address.
"""

from dataclasses import dataclass

from aws_cdk import Annotations, Fn, Stack
from aws_cdk import aws_ec2 as ec2

from components.log_group import log_group
from stage_config import StageConfig


@dataclass(frozen=True, slots=True)
class Network:
    """A network with the subnets and the security group of the tasks."""

    vpc: ec2.IVpc
    subnets: ec2.SubnetSelection
    security_group: ec2.SecurityGroup
    public_addresses: bool
    """Whether tasks get a public address. Without a NAT gateway they need one for outgoing calls.

    The security group still refuses incoming calls.
    """


def zones() -> list[str]:
    """Return two zones of the region, without a lookup of their names in the account."""
    return [Fn.select(number, Fn.get_azs()) for number in range(2)]


def network(stack: Stack, config: StageConfig) -> Network:
    if config.vpc_id is None:
        vpc: ec2.IVpc = _own(stack, config)
        subnets = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    else:
        vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id=config.vpc_id, availability_zones=zones())
        subnets = ec2.SubnetSelection(subnets=[_existing(stack, subnet_id) for subnet_id in config.vpc_subnets])
    return Network(vpc, subnets, _no_incoming_calls(stack, vpc), public_addresses=config.vpc_id is None)


def _existing(stack: Stack, subnet_id: str) -> ec2.ISubnet:
    subnet = ec2.Subnet.from_subnet_id(stack, subnet_id, subnet_id)
    # CDK does not know the routes of the subnet, and these stacks do not use them.
    Annotations.of(subnet).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId")
    return subnet


def _own(stack: Stack, config: StageConfig) -> ec2.Vpc:
    public = ec2.SubnetConfiguration(
        name="public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=20, map_public_ip_on_launch=False
    )
    vpc = ec2.Vpc(stack, "Vpc", vpc_name=config.name("workers"), nat_gateways=0, subnet_configuration=[public])
    # The log shows which addresses the jobs of all tenants called. Without a task there is nothing to log or to pay.
    flows = log_group(stack, "FlowLogs", f"/onthedot/{config.stage}/worker-flows", config)
    vpc.add_flow_log("Flows", destination=ec2.FlowLogDestination.to_cloud_watch_logs(flows))
    # A gateway endpoint is free, and keeps the traffic of the table off the internet.
    vpc.add_gateway_endpoint("DynamoDb", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    return vpc


def _no_incoming_calls(stack: Stack, vpc: ec2.IVpc) -> ec2.SecurityGroup:
    return ec2.SecurityGroup(
        stack, "WorkerSecurityGroup", vpc=vpc, description="Workers make outgoing calls only", allow_all_outbound=True
    )
