"""Tasks by backlog: none while nothing waits, one as soon as something does, more by how much waits for each.

Target tracking cannot leave zero, since a backlog divided by no tasks is no number; so there are two alarms on
metric math, each with a step policy of its own.

- *Missing tasks* = ceil(waiting / backlog per task) - running, and one is missing as soon as one run waits. Steps
  double, so that any number is reached within a few minutes; while tasks start, the cooldown keeps the same want
  from being met twice. *Waiting* are the messages that are visible **and those still delayed**: runs are handed to
  SQS minutes ahead of their time, and so the task is there when they are due, instead of starting then.
- *Idle* = nothing waits and nothing is in flight, ten minutes long: then all tasks go. Never some of them: ECS would
  choose which, and it might be the one in the tenth hour of its run.

Running tasks are counted by the samples of `CPUUtilization`, which is free and needs nothing to be turned on. SQS
sends no metric of a queue that nobody touched for six hours, and takes up to 15 minutes to send it again: a touch
every few hours (`queue_touch`) keeps it from falling asleep.
"""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs

MINUTE: Final = Duration.minutes(1)
IDLE_MINUTES: Final = 10
# A task is pulled and started within this.
START_TIME: Final = Duration.minutes(2)
WAITING: Final = ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesDelayed")
IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_ROLE: Final = (
    "aws-service-role/ecs.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_ECSService"
)


class BacklogScaling:
    """Scales one service by the backlog of its pool's queues. `name` is the prefix of what it makes."""

    def __init__(
        self, stack: Stack, name: str, service: ecs.FargateService, queues: Sequence[sqs.IQueue], max_tasks: int
    ) -> None:
        self._stack, self._name, self._service, self._queues = stack, name, service, queues
        self._max_tasks = max_tasks
        self._target = scaling.ScalableTarget(
            stack,
            f"{name}Scaling",
            service_namespace=scaling.ServiceNamespace.ECS,
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=f"service/{service.cluster.cluster_name}/{service.service_name}",
            min_capacity=0,
            max_capacity=max_tasks,
            role=iam.Role.from_role_arn(stack, f"{name}ScalingRole", self._service_linked_role()),
        )

    def start_by_backlog(self, alarm_name: str, backlog_per_task: int) -> None:
        waiting, metrics = self._sum(WAITING)
        metrics["tasks"] = self._running_tasks()
        alarm = cloudwatch.Alarm(
            self._stack,
            f"{self._name}MissingAlarm",
            alarm_name=alarm_name,
            alarm_description="Not a fault: tasks that the backlog asks for are started",
            metric=_math(f"CEIL(({waiting}) / {backlog_per_task}) - FILL(tasks, 0)", metrics, "missing tasks"),
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        action = self._action("Start", scaling.AdjustmentType.CHANGE_IN_CAPACITY, START_TIME)
        steps = _doubling(self._max_tasks)
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            # Bounds count from the alarm's threshold, which is one missing task.
            upper = None if following is None else following - 1
            action.add_adjustment(adjustment=step, lower_bound=step - 1, upper_bound=upper)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def stop_when_idle(self, alarm_name: str) -> None:
        at_all, metrics = self._sum((*WAITING, IN_FLIGHT))
        alarm = cloudwatch.Alarm(
            self._stack,
            f"{self._name}IdleAlarm",
            alarm_name=alarm_name,
            alarm_description="Not a fault: nothing waits or runs, and the tasks are stopped",
            metric=_math(at_all, metrics, "waiting and in flight"),
            threshold=0,
            evaluation_periods=IDLE_MINUTES,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            # No number is no reason to stop anybody.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        action = self._action("Stop", scaling.AdjustmentType.EXACT_CAPACITY, MINUTE)
        action.add_adjustment(adjustment=0, upper_bound=0)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def _action(self, what: str, kind: scaling.AdjustmentType, cooldown: Duration) -> scaling.StepScalingAction:
        return scaling.StepScalingAction(
            self._stack,
            f"{self._name}{what}",
            scaling_target=self._target,
            adjustment_type=kind,
            cooldown=cooldown,
            metric_aggregation_type=scaling.MetricAggregationType.MAXIMUM,
        )

    def _sum(self, names: Sequence[str]) -> tuple[str, dict[str, cloudwatch.IMetric]]:
        """The sum over all queues as an expression; SQS leaves out what is zero, so gaps are filled."""
        metrics: dict[str, cloudwatch.IMetric] = {
            f"q{number}": queue.metric(name, statistic="Maximum", period=MINUTE)
            for number, (name, queue) in enumerate((name, queue) for name in names for queue in self._queues)
        }
        return " + ".join(f"FILL({metric}, 0)" for metric in metrics), metrics

    def _running_tasks(self) -> cloudwatch.IMetric:
        return self._service.metric_cpu_utilization(statistic="SampleCount", period=MINUTE)

    def _service_linked_role(self) -> str:
        return self._stack.format_arn(service="iam", region="", resource="role", resource_name=_ROLE)


def _math(expression: str, metrics: dict[str, cloudwatch.IMetric], label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics=metrics, period=MINUTE, label=label)


def _doubling(most: int) -> list[int]:
    """1, 2, 4 … up to the most that there may be."""
    return [2**power for power in range(most.bit_length())]
