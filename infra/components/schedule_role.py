"""The role of a schedule."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam


def schedule_role(stack: Stack, construct_id: str) -> iam.Role:
    """Only schedules of this account may act through it, not anybody's who knows its name."""
    ours = {"StringEquals": {"aws:SourceAccount": stack.account}}
    principal = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=ours)
    return iam.Role(stack, construct_id, assumed_by=principal)
