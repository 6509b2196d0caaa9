"""The task of a Fargate pool: our image with the same `onthedot worker` that runs as a process elsewhere.

The task of an ordinary pool uses the queues and the table itself. A task with a shell runs programs of users who submit
jobs, so it gets its runs through the API with a token, and its role has no grants. It cannot even protect itself from
scale-in: with that grant, a program could keep all tasks of the cluster, and block every deployment.
"""

from pathlib import Path
from typing import Final

from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from components.dead_letters import construct_part
from components.scheduler_function import log_group
from onthedot.core.pools import Pool
from pool_config import AWS_CALLS, TYPES, Fargate
from stage_config import StageConfig

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINER: Final = "worker"
# The longest time that Fargate waits after SIGTERM. The worker finishes within less, and hands back in the rest.
STOP_TIMEOUT: Final = Duration.seconds(120)
GRACE_SECONDS: Final = 105
SCRATCH: Final = "/tmp"  # noqa: S108 - a volume of this task only
TOKEN_VARIABLE: Final = "ONTHEDOT_TOKEN"  # noqa: S105 - a name, not a token
URL_VARIABLE: Final = "ONTHEDOT_URL"


def worker_command(pool: Pool, fargate: Fargate) -> list[str]:
    """Return the arguments of the image's entry point, `onthedot`."""
    command = ["worker", "--pool", pool.name, "--shell" if fargate.shell else "--direct", "--json"]
    command += ["--concurrency", str(fargate.concurrency), "--cpu", f"{fargate.cpu / 1024:g}"]
    command += ["--memory-mb", str(fargate.free_memory_mb), "--grace", str(GRACE_SECONDS)]
    if fargate.app is not None:
        command += ["--app", fargate.app]
    if pool.capabilities & AWS_CALLS:
        command += ["--aws"]
    return command + [part for name in sorted(pool.capabilities - TYPES) for part in ("--capability", name)]


def worker_image(fargate: Fargate) -> ecs.ContainerImage:
    """Return the image. `cdk deploy` builds it from the `Dockerfile`, and synthesis only hashes its files."""
    return ecs.ContainerImage.from_asset(str(fargate.image or ROOT), platform=ecr_assets.Platform.LINUX_ARM64)


def worker_task(
    stack: Stack,
    config: StageConfig,
    pool: Pool,
    fargate: Fargate,
    *,
    environment: dict[str, str],
    token: secretsmanager.ISecret | None = None,
) -> ecs.FargateTaskDefinition:
    """Make the task definition. Its role is empty, and the caller adds the grants."""
    name = pool.name
    task = ecs.FargateTaskDefinition(
        stack,
        f"{construct_part(name)}Task",
        family=config.name(f"worker-{name}"),
        cpu=fargate.cpu,
        memory_limit_mib=fargate.memory_mb,
        runtime_platform=ecs.RuntimePlatform(
            cpu_architecture=ecs.CpuArchitecture.ARM64, operating_system_family=ecs.OperatingSystemFamily.LINUX
        ),
        volumes=[ecs.Volume(name="scratch")],
    )
    container = task.add_container(
        CONTAINER,
        image=worker_image(fargate),
        command=worker_command(pool, fargate),
        environment=environment,
        secrets={TOKEN_VARIABLE: ecs.Secret.from_secrets_manager(token)} if token else None,
        readonly_root_filesystem=True,
        stop_timeout=STOP_TIMEOUT,
        linux_parameters=_few_powers(stack, name, init=not fargate.shell),
        logging=_logs(stack, config, name),
    )
    container.add_mount_points(ecs.MountPoint(container_path=SCRATCH, source_volume="scratch", read_only=False))
    return task


def _few_powers(stack: Stack, name: str, *, init: bool) -> ecs.LinuxParameters:
    """Drop all capabilities, and add an init process, which collects killed children, unless the task has a shell.

    The init process has the same user as the programs of a shell, so they could read the token in its environment. The
    worker hides its own environment, and collects its children itself.
    """
    parameters = ecs.LinuxParameters(stack, f"{construct_part(name)}Linux", init_process_enabled=init)
    parameters.drop_capabilities(ecs.Capability.ALL)
    return parameters


def _logs(stack: Stack, config: StageConfig, name: str) -> ecs.LogDriver:
    group = log_group(stack, f"{construct_part(name)}Logs", f"/onthedot/{config.stage}/worker-{name}", config)
    # A worker must not stop because its log is slow.
    return ecs.LogDrivers.aws_logs(
        stream_prefix=CONTAINER,
        log_group=group,
        mode=ecs.AwsLogDriverMode.NON_BLOCKING,
        max_buffer_size=Size.mebibytes(4),
    )
