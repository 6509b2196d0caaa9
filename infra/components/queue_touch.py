"""A call every few hours for each queue whose metrics start tasks.

SQS stops sending the metrics of a queue that was unused for six hours, and takes up to 15 minutes to send them again.
The first run after a quiet night would wait that long for its task. Setting an existing tag again changes nothing and
counts as use. A reading call would be simpler, but EventBridge Scheduler does not make reading calls.
"""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from aws_cdk import aws_sqs as sqs

EVERY: Final = Duration.hours(3)
TAG: Final = {"application": "onthedot"}


def touch(stack: Stack, construct_id: str, name: str, queue: sqs.IQueue, role: iam.Role) -> None:
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
