"""Log groups with the retention time of the stage."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from stage_config import RETENTION, StageConfig


def log_group(scope: Construct, construct_id: str, name: str, config: StageConfig) -> logs.LogGroup:
    """Make a log group that is deleted with its stack.

    Its name is fixed, so a retained group would make the next deployment fail.
    """
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays[RETENTION[config.log_retention_days]],
        removal_policy=RemovalPolicy.DESTROY,
    )
