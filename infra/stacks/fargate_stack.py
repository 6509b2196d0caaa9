"""Pools whose workers are tasks on Fargate: one service for each pool, scaled from zero by its backlog."""

from typing import Final

from aws_cdk import CfnOutput, Environment, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from components.backlog_scaling import BacklogScaling
from components.calls_role import assuming
from components.network import Network, network, zones
from components.queue_touch import touch
from components.schedule_role import schedule_role
from components.store_settings import worker_settings
from components.worker_grants import pulling, working
from components.worker_task import URL_VARIABLE, construct_part, worker_task
from onthedot.domain.workers.pools import Pool
from pool_config import AWS_CALLS, Fargate, StagePool
from stacks.api_stack import ApiStack
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

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
        """Make the secret with a value that is no token. The operator of the stage replaces it by one."""
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
