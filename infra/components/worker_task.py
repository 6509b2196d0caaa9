"""The task of a Fargate pool: our image, running the same `onthedot worker` that anybody can start as a process.

An ordinary pool's task works on the queues and the table itself. One with a shell runs programs of whoever submits
jobs: it gets its runs through the API by a token, and its role allows nothing at all.
"""

from pathlib import Path
from typing import Final

from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from components.log_group import log_group
from onthedot.domain.workers.pools import Pool
from pool_config import AWS_CALLS, TYPES, Fargate
from stage_config import StageConfig

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINER: Final = "worker"
# The longest that Fargate waits after SIGTERM; the worker finishes within less, and hands back in what is left.
STOP_TIMEOUT: Final = Duration.seconds(120)
GRACE_SECONDS: Final = 105
SCRATCH: Final = "/tmp"  # noqa: S108 - a volume of the task's own
TOKEN_VARIABLE: Final = "ONTHEDOT_TOKEN"  # noqa: S105 - a name, not a token
URL_VARIABLE: Final = "ONTHEDOT_URL"


def worker_command(pool: Pool, fargate: Fargate) -> list[str]:
    """What follows the image's entry point, `onthedot`."""
    command = ["worker", "--pool", pool.name, "--shell" if fargate.shell else "--direct", "--json"]
    command += ["--concurrency", str(fargate.concurrency), "--cpu", f"{fargate.cpu / 1024:g}"]
    command += ["--memory-mb", str(fargate.free_memory_mb), "--grace", str(GRACE_SECONDS)]
    if fargate.app is not None:
        command += ["--app", fargate.app]
    if pool.capabilities & AWS_CALLS:
        command += ["--aws"]
    return command + [part for name in sorted(pool.capabilities - TYPES) for part in ("--capability", name)]


def worker_image(fargate: Fargate) -> ecs.ContainerImage:
    """Built from the `Dockerfile` at deployment; synthesis only looks at what goes into it."""
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
    """Its role is empty; grants come from the caller."""
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
    """An init process collects what killed children leave behind. Not beside a shell: it is of the same user, and
    programs could read the token in its environment; the worker hides its own, and collects by itself."""
    parameters = ecs.LinuxParameters(stack, f"{construct_part(name)}Linux", init_process_enabled=init)
    parameters.drop_capabilities(ecs.Capability.ALL)
    return parameters


def _logs(stack: Stack, config: StageConfig, name: str) -> ecs.LogDriver:
    group = log_group(stack, f"{construct_part(name)}Logs", f"/onthedot/{config.stage}/worker-{name}", config)
    # A worker must not stand still because its log does.
    return ecs.LogDrivers.aws_logs(
        stream_prefix=CONTAINER,
        log_group=group,
        mode=ecs.AwsLogDriverMode.NON_BLOCKING,
        max_buffer_size=Size.mebibytes(4),
    )


def construct_part(name: str) -> str:
    """A pool's name as part of a construct's."""
    return "".join(part.capitalize() for part in name.split("-"))
