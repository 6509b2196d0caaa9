"""Pools whose workers are tasks on Fargate: one service for each pool, scaled from zero by its backlog."""

from dataclasses import dataclass
from typing import Final

from aws_cdk import Annotations, CfnOutput, Duration, Environment, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.backlog_scaling import BacklogScaling
from components.dead_letters import construct_part
from components.scheduler_function import log_group, schedule_role, worker_settings
from components.worker_grants import assuming, pulling, working
from components.worker_task import URL_VARIABLE, worker_task
from onthedot.core.pools import Pool
from pool_config import AWS_CALLS, Fargate, StagePool
from stacks.api_stack import ApiStack
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig


@dataclass(frozen=True, slots=True)
class Network:
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
    """Make a network that costs nothing while no task runs, or use an existing one.

    Workers only make outgoing calls: to the queues, the table, the API and the targets of jobs. So a new network has
    public subnets with an internet gateway, and no NAT gateway, which would cost more by the hour than the whole idle
    system. An existing network has its own route to the internet, and its tasks get no public address.
    """
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


EVERY: Final = Duration.hours(3)
TAG: Final = {"application": "onthedot"}


def touch(stack: Stack, construct_id: str, name: str, queue: sqs.IQueue, role: iam.Role) -> None:
    """Touch a queue whose metrics start tasks, every few hours.

    SQS stops sending the metrics of a queue that was unused for six hours, and takes up to 15 minutes to send them
    again. The first run after a quiet night would wait that long for its task. Setting an existing tag again changes
    nothing and counts as use. A reading call would be simpler, but EventBridge Scheduler does not make reading calls.
    """
    scheduler.Schedule(
        stack,
        construct_id,
        schedule_name=name,
        description="Keeps the metrics of the queue awake",
        schedule=scheduler.ScheduleExpression.rate(EVERY),
        target=targets.Universal(
            service="sqs",
            action="tagQueue",
            input=scheduler.ScheduleTargetInput.from_object({"QueueUrl": queue.queue_url, "Tags": TAG}),
            policy_statements=[iam.PolicyStatement(actions=["sqs:TagQueue"], resources=[queue.queue_arn])],
            role=role,
            # The next touch has the same effect.
            retry_attempts=1,
        ),
    )


LOGGING: Final = {"LOG_LEVEL": "INFO", "POWERTOOLS_SERVICE_NAME": "worker"}


class FargateStack(Stack):
    """The services of the Fargate pools. An idle stack has no task, and nothing else that is paid by the hour.

    The number of tasks belongs to the scaling: no template names it, so a deployment keeps it. ECS starts one task of a
    new service, which the alarms stop when it has nothing to do. A deployment replaces all tasks. It waits for those
    that protect themselves, for at most three hours, and the others get two minutes to finish.
    """

    def __init__(
        self,
        scope: Construct,
        config: StageConfig,
        env: Environment,
        *,
        data: DataStack,
        queues: QueuesStack,
        api: ApiStack,
    ) -> None:
        super().__init__(scope, config.name("fargate"), env=env, description="onthedot: workers on Fargate")
        self._config, self._data, self._queues, self._api = config, data, queues, api
        self._network = network(self, config)
        self._cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=config.name("workers"),
            vpc=self._network.vpc,
            container_insights_v2=ecs.ContainerInsights.ENABLED,
        )
        pools = [(known, known.fargate) for known in config.pools if known.fargate is not None]
        self._token = self._worker_token() if any(fargate.shell for _, fargate in pools) else None
        self._touch_role = schedule_role(self, "TouchRole")
        for known, fargate in pools:
            self._add_pool(known, fargate)

    @property
    def availability_zones(self) -> list[str]:
        """Two zones, without a lookup in the account: synthesis needs no credentials."""
        return zones()

    def _worker_token(self) -> secretsmanager.Secret:
        """Make the secret with a value that is not a token. The operator of the stage replaces it by one."""
        secret = secretsmanager.Secret(
            self,
            "WorkerToken",
            secret_name=f"onthedot/{self._config.stage}/worker-token",
            description="The API token of workers that run shell jobs. Replace it by a token for this purpose only",
        )
        CfnOutput(self, "WorkerTokenSecret", value=secret.secret_name)
        return secret

    def _add_pool(self, known: StagePool, fargate: Fargate) -> None:
        task = self._shell_task(known, fargate) if fargate.shell else self._direct_task(known, fargate)
        service = self._service(known.pool, task, self._network)
        scaling = BacklogScaling(
            self, construct_part(known.pool.name), service, self._queues.pool_queues(self, known.pool), fargate
        )
        scaling.start_by_backlog(self._config.name(f"{known.pool.name}-missing-tasks"), self._config.backlog_per_task)
        if fargate.shell:
            scaling.stop_when_idle(self._config.name(f"{known.pool.name}-idle"))
        else:
            scaling.stop_surplus(self._config.name(f"{known.pool.name}-surplus-tasks"), self._config.backlog_per_task)
        self._keep_awake(known.pool)

    def _direct_task(self, known: StagePool, fargate: Fargate) -> ecs.FargateTaskDefinition:
        environment = {**worker_settings(self._config, self._data, self._queues).to_environment(), **LOGGING}
        task = worker_task(self, self._config, known.pool, fargate, environment=environment)
        calls = [assuming(self, self._config)] if known.pool.capabilities & AWS_CALLS else []
        pull_grants = pulling(self._data, self._queues, known.pool)
        for statement in (*working(self._data, self._queues), *pull_grants, *calls, self._protecting()):
            task.add_to_task_role_policy(statement)
        return task

    def _protecting(self) -> iam.PolicyStatement:
        """Allow the tasks of the cluster to protect themselves. IAM knows no condition for the task that asks."""
        tasks = self.format_arn(service="ecs", resource="task", resource_name=f"{self._config.name('workers')}/*")
        return iam.PolicyStatement(actions=["ecs:UpdateTaskProtection"], resources=[tasks])

    def _shell_task(self, known: StagePool, fargate: Fargate) -> ecs.FargateTaskDefinition:
        environment = {URL_VARIABLE: self._api.base_url, **LOGGING}
        return worker_task(self, self._config, known.pool, fargate, environment=environment, token=self._token)

    def _service(self, pool: Pool, task: ecs.FargateTaskDefinition, at: Network) -> ecs.FargateService:
        return ecs.FargateService(
            self,
            f"{construct_part(pool.name)}Service",
            service_name=self._config.name(f"worker-{pool.name}"),
            cluster=self._cluster,
            task_definition=task,
            assign_public_ip=at.public_addresses,
            vpc_subnets=at.subnets,
            security_groups=[at.security_group],
            # New tasks start before old tasks stop.
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
        )

    def _keep_awake(self, pool: Pool) -> None:
        for number, queue in enumerate(self._queues.pool_queues(self, pool)):
            name = self._config.name(f"touch-{pool.name}-{number}")
            touch(self, f"{construct_part(pool.name)}Touch{number}", name, queue, self._touch_role)
