"""A log group that forgets."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from stage_config import RETENTION, StageConfig


def log_group(scope: Construct, construct_id: str, name: str, config: StageConfig) -> logs.LogGroup:
    """Goes with its stack: the name is fixed, so a retained group would be in the way of the next deployment."""
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays[RETENTION[config.log_retention_days]],
        removal_policy=RemovalPolicy.DESTROY,
    )
