"""Scaling of tasks by backlog: no task without messages, one task for the first message, more for a longer backlog.

Target tracking cannot leave zero, since a backlog divided by zero tasks is not a number. So there are two alarms on
metric math, each with its own step policy.

- *Missing tasks* = ceil(waiting / backlog per task) - running. One task is missing as soon as one run waits. Steps
  double, so that any number is reached within a few minutes. *Waiting* includes visible **and delayed** messages: runs
  are sent to SQS minutes ahead of their fire time, so the task has started when they are due.
- *Surplus tasks* = running - ceil(waiting / backlog per task) - ceil(in flight / concurrency), for ten minutes. ECS
  chooses which tasks it stops, and takes none that protects itself, which tasks do while they have a long run.
- *Idle*, for tasks that cannot protect themselves (see `worker_task`) in place of surplus: no message waits or is in
  flight for ten minutes. Then all tasks stop. Never only some of them: ECS might stop the one in the tenth hour of its
  run.

**What the metrics deliver.** SQS and ECS send one value a minute, which arrives in CloudWatch one to three minutes
later, each in its own time. So the newest minutes lack some values or all of them. CloudWatch evaluates the newest
minutes *that have a value*, and looks further back for them, as long as no `FILL` invents one.

- A `+` has a value only for minutes of which all its metrics arrived. Surplus and idle use it: missing data stops no
  task. Ten of ten such minutes are needed.
- `SUM` has a value as soon as one of its metrics arrived. Missing tasks uses it for the backlog, since a queue that is
  silent must not keep the others from starting a task. A value that is late makes the sum too small, and a task starts
  a minute later.
- The number of running tasks is the count of `CPUUtilization` samples, which are free, and which end with the last
  task. So missing tasks must fill them with 0, and a minute whose samples are late looks as if no task ran. Therefore
  two of three minutes must miss tasks, and the step is taken by the smallest of them. Container Insights would send
  zeros, but in its own time as well.
- An alarm remembers three minutes in which the tasks did not run yet. The cooldown covers them and the start of a task.
  Within it Application Auto Scaling starts only those tasks that a larger step adds to the one before.

SQS sends no metrics of a queue that was unused for six hours, and takes up to 15 minutes to send them again. A touch
every few hours (`queue_touch`) prevents this.

**Service-linked roles.** The template names no role for the scaling. Then Application Auto Scaling uses its role
`AWSServiceRoleForApplicationAutoScaling_ECSService`, and makes it in an account that has none, if CloudFormation's role
may do so. With a name in the template, the first deployment in such an account fails. A resource of the type
`AWS::IAM::ServiceLinkedRole` fails in an account that has the role.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs

from pool_config import Fargate

MINUTE: Final = Duration.minutes(1)
IDLE_MINUTES: Final = 10
MISSING_MINUTES: Final = 3
MISSING_IN: Final = 2
"""The minutes, of the last three, that must miss tasks. The newest one may have no task only because they are late."""
# The time within which the image of a task is pulled and the task is started, and the alarm has forgotten the time
# before.
START_TIME: Final = Duration.minutes(2 + MISSING_MINUTES)
WAITING: Final = ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesDelayed")
IN_FLIGHT: Final = ("ApproximateNumberOfMessagesNotVisible",)
TASKS: Final = "tasks"
Metrics = dict[str, cloudwatch.IMetric]


class BacklogScaling:
    """The scaling of one service by the backlog of its pool's queues. `name` is the prefix of its constructs."""

    def __init__(
        self, stack: Stack, name: str, service: ecs.FargateService, queues: Sequence[sqs.IQueue], fargate: Fargate
    ) -> None:
        self._stack, self._name, self._service, self._queues = stack, name, service, queues
        self._fargate = fargate
        self._target = scaling.ScalableTarget(
            stack,
            f"{name}Scaling",
            service_namespace=scaling.ServiceNamespace.ECS,
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=f"service/{service.cluster.cluster_name}/{service.service_name}",
            min_capacity=0,
            max_capacity=fargate.max_tasks,
            # CDK would make a role, which ECS does not need. See the module's docstring.
            role=iam.Role.from_role_arn(stack, f"{name}ScalingRole", "arn:aws:iam::000000000000:role/none"),
        )
        resource = self._target.node.default_child
        if not isinstance(resource, scaling.CfnScalableTarget):
            raise TypeError("a scalable target of CDK is another construct than before")
        resource.add_property_deletion_override("RoleARN")

    def start_by_backlog(self, alarm_name: str, backlog_per_task: int) -> None:
        waiting = self._queue_metrics("w", WAITING)
        expression = f"CEIL(SUM([{', '.join(waiting)}]) / {backlog_per_task}) - FILL({TASKS}, 0)"
        alarm = cloudwatch.Alarm(
            self._stack,
            f"{self._name}MissingAlarm",
            alarm_name=alarm_name,
            alarm_description="Not a fault: tasks that the backlog asks for are started",
            metric=_math(expression, waiting | self._running_tasks(), "missing tasks"),
            threshold=1,
            evaluation_periods=MISSING_MINUTES,
            datapoints_to_alarm=MISSING_IN,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        action = self._action("Start", scaling.AdjustmentType.CHANGE_IN_CAPACITY, START_TIME)
        for step, lower, upper in _doubling(self._fargate.max_tasks):
            action.add_adjustment(adjustment=step, lower_bound=lower, upper_bound=upper)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def stop_surplus(self, alarm_name: str, backlog_per_task: int) -> None:
        """Stop the tasks that are too many. Only for tasks that protect themselves."""
        waiting, in_flight = self._queue_metrics("w", WAITING), self._queue_metrics("f", IN_FLIGHT)
        needed = f"CEIL(({' + '.join(waiting)}) / {backlog_per_task})"
        busy = f"CEIL(({' + '.join(in_flight)}) / {self._fargate.concurrency})"
        alarm = self._idle_alarm(
            f"{self._name}SurplusAlarm",
            alarm_name,
            "Not a fault: more tasks run than the backlog and the runs in flight ask for, and some are stopped",
            _math(f"{TASKS} - {needed} - {busy}", waiting | in_flight | self._running_tasks(), "surplus tasks"),
            threshold=1,
            comparison=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        )
        # The alarm must have forgotten the tasks that were stopped before it can stop more.
        action = self._action("Stop", scaling.AdjustmentType.CHANGE_IN_CAPACITY, Duration.minutes(IDLE_MINUTES))
        for step, lower, upper in _doubling(self._fargate.max_tasks):
            action.add_adjustment(adjustment=-step, lower_bound=lower, upper_bound=upper)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def stop_when_idle(self, alarm_name: str) -> None:
        """Stop all tasks when nothing is left to do. For tasks that cannot protect themselves."""
        metrics = self._queue_metrics("w", WAITING) | self._queue_metrics("f", IN_FLIGHT)
        alarm = self._idle_alarm(
            f"{self._name}IdleAlarm",
            alarm_name,
            "Not a fault: nothing waits or runs, and the tasks are stopped",
            _math(" + ".join(metrics), metrics, "waiting and in flight"),
            threshold=0,
            comparison=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
        )
        action = self._action("Stop", scaling.AdjustmentType.EXACT_CAPACITY, MINUTE)
        action.add_adjustment(adjustment=0, upper_bound=0)
        alarm.add_alarm_action(actions.ApplicationScalingAction(action))

    def _idle_alarm(
        self,
        construct_id: str,
        name: str,
        why: str,
        metric: cloudwatch.IMetric,
        *,
        threshold: int,
        comparison: cloudwatch.ComparisonOperator,
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self._stack,
            construct_id,
            alarm_name=name,
            alarm_description=why,
            metric=metric,
            threshold=threshold,
            evaluation_periods=IDLE_MINUTES,
            comparison_operator=comparison,
            # Missing data is no reason to stop a task.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _action(self, name: str, kind: scaling.AdjustmentType, cooldown: Duration) -> scaling.StepScalingAction:
        return scaling.StepScalingAction(
            self._stack,
            f"{self._name}{name}",
            scaling_target=self._target,
            adjustment_type=kind,
            cooldown=cooldown,
            # The largest value may be that of a minute whose tasks have not arrived.
            metric_aggregation_type=scaling.MetricAggregationType.MINIMUM,
        )

    def _queue_metrics(self, prefix: str, names: Sequence[str]) -> Metrics:
        pairs = ((name, queue) for name in names for queue in self._queues)
        return {
            f"{prefix}{number}": queue.metric(name, statistic="Maximum", period=MINUTE)
            for number, (name, queue) in enumerate(pairs)
        }

    def _running_tasks(self) -> Metrics:
        return {TASKS: self._service.metric_cpu_utilization(statistic="SampleCount", period=MINUTE)}


def _math(expression: str, metrics: Metrics, label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics=metrics, period=MINUTE, label=label)


def _doubling(most: int) -> Iterator[tuple[int, int, int | None]]:
    """Yield the steps 1, 2, 4 … up to the maximum, each with its bounds.

    Bounds count from the threshold of the alarm, which is 1.
    """
    steps = [2**power for power in range(most.bit_length())]
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        yield step, step - 1, None if following is None else following - 1
