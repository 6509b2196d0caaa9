"""The role that EventBridge Scheduler assumes for a schedule."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam


def schedule_role(stack: Stack, construct_id: str) -> iam.Role:
    """Make a role that only schedules of this account can assume, not those of another account."""
    ours = {"StringEquals": {"aws:SourceAccount": stack.account}}
    principal = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=ours)
    return iam.Role(stack, construct_id, assumed_by=principal)
