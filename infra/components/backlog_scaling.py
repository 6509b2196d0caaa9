"""Scaling of tasks by backlog: no task without messages, one task for the first message, more for a longer backlog.

Target tracking cannot leave zero, since a backlog divided by zero tasks is no number. So there are two alarms on metric
math, each with its own step policy.

- *Missing tasks* = ceil(waiting / backlog per task) - running. One task is missing as soon as one run waits. Steps
  double, so that any number is reached within a few minutes. While tasks start, the cooldown prevents a second start
  for the same backlog. *Waiting* includes visible **and delayed** messages: runs are sent to SQS minutes ahead of their
  fire time, so the task has started when they are due.
- *Idle* = no message waits or is in flight for ten minutes. Then all tasks stop. Never only some of them: ECS would
  choose which, and it might choose the one in the tenth hour of its run.

Running tasks are counted by the samples of `CPUUtilization`, which is free and always on. SQS sends no metrics of a
queue that was unused for six hours, and takes up to 15 minutes to send them again. A touch every few hours
(`queue_touch`) prevents this.
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
# The time within which the image of a task is pulled and the task is started.
START_TIME: Final = Duration.minutes(2)
WAITING: Final = ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesDelayed")
IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_ROLE: Final = (
    "aws-service-role/ecs.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_ECSService"
)


class BacklogScaling:
    """The scaling of one service by the backlog of its pool's queues. `name` is the prefix of its constructs."""

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
        messages, metrics = self._sum((*WAITING, IN_FLIGHT))
        alarm = cloudwatch.Alarm(
            self._stack,
            f"{self._name}IdleAlarm",
            alarm_name=alarm_name,
            alarm_description="Not a fault: nothing waits or runs, and the tasks are stopped",
            metric=_math(messages, metrics, "waiting and in flight"),
            threshold=0,
            evaluation_periods=IDLE_MINUTES,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            # Missing data is no reason to stop a task.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        action = self._action("Stop", scaling.AdjustmentType.EXACT_CAPACITY, MINUTE)
        action.add_adjustment(adjustment=0, upper_bound=0)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def _action(self, name: str, kind: scaling.AdjustmentType, cooldown: Duration) -> scaling.StepScalingAction:
        return scaling.StepScalingAction(
            self._stack,
            f"{self._name}{name}",
            scaling_target=self._target,
            adjustment_type=kind,
            cooldown=cooldown,
            metric_aggregation_type=scaling.MetricAggregationType.MAXIMUM,
        )

    def _sum(self, names: Sequence[str]) -> tuple[str, dict[str, cloudwatch.IMetric]]:
        """Return the sum over all queues as an expression. SQS leaves out zeros, so gaps are filled."""
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
    """Return 1, 2, 4 … up to the maximum."""
    return [2**power for power in range(most.bit_length())]
