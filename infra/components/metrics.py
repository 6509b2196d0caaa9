"""Metrics, alarms and the dashboard of a stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns

from components.dead_letters import construct_part, queue_keys
from onthedot.core.pools import PoolKind
from onthedot.engines.aws.throttling import THROTTLED
from onthedot.metrics import DEAD, FAULTS, LATENESS, LOST, SENT, SUCCEEDED, UNDELIVERABLE, UNSETTLED, WAITING_LONG
from onthedot.observability import NAMESPACE
from stage_config import StageConfig

RUNBOOK: Final = "docs/operations.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A metric and the values of it that call a person.

    Without `below` the alarm goes off above the threshold, and with it below the threshold. `periods` are looked at,
    and `of_them` must be bad. `silence_is_bad` says that a period without data is a bad one.
    """

    name: str
    metric: cloudwatch.Metric
    threshold: float
    why: str
    below: bool = False
    periods: int = 1
    of_them: int | None = None
    silence_is_bad: bool = False


def alarm(stack: Stack, config: StageConfig, topic: sns.ITopic, watched: Watched) -> cloudwatch.Alarm:
    """Make the alarm `onthedot-<stage>-<name>`. The topic learns when it goes off, and when it is over."""
    comparison = cloudwatch.ComparisonOperator
    made = cloudwatch.Alarm(
        stack,
        f"{construct_part(watched.name)}Alarm",
        alarm_name=config.name(watched.name),
        alarm_description=f"{watched.why}. {RUNBOOK}#{watched.name}",
        metric=watched.metric,
        threshold=watched.threshold,
        evaluation_periods=watched.periods,
        datapoints_to_alarm=watched.of_them or watched.periods,
        comparison_operator=comparison.LESS_THAN_THRESHOLD if watched.below else comparison.GREATER_THAN_THRESHOLD,
        treat_missing_data=(
            cloudwatch.TreatMissingData.BREACHING
            if watched.silence_is_bad
            else cloudwatch.TreatMissingData.NOT_BREACHING
        ),
    )
    made.add_alarm_action(actions.SnsAction(topic))
    made.add_ok_action(actions.SnsAction(topic))
    return made


def own(config: StageConfig, name: str, statistic: str, period: Duration) -> cloudwatch.Metric:
    """Return a metric that the functions write. Its only dimension is the stage."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"stage": config.stage},
        statistic=statistic,
        period=period,
    )


def of_aws(
    service: str, name: str, statistic: str, period: Duration, label: str | None = None, **dimensions: str
) -> cloudwatch.Metric:
    """Return a metric that AWS itself writes, of a resource that is known by its name."""
    return cloudwatch.Metric(
        namespace=f"AWS/{service}",
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=period,
        label=label,
    )


PERIOD: Final = Duration.minutes(5)
WIDTH: Final = 8
HEIGHT: Final = 6
PERCENTILES: Final = ("p50", "p99")
FUNCTIONS: Final = ("planner", "dispatcher", "worker", "api", "events", "publisher")
"""The functions whose errors the dashboard shows. It has 50 metrics at most, because more cost money."""
BUSY: Final = ("dispatcher", "worker", "api")
"""The functions whose durations it shows."""
SKIPS: Final = ("late", "overlap", "missed", "parent", "unscheduled")
_AGE: Final = "ApproximateAgeOfOldestMessage"
_DEPTH: Final = "ApproximateNumberOfMessagesVisible"


def dashboard(stack: Stack, config: StageConfig, alarms: Sequence[cloudwatch.IAlarm]) -> cloudwatch.Dashboard:
    """Make the dashboard `onthedot-<stage>`. A graph of pools shows the queues of push pools, and `tick`."""
    made = cloudwatch.Dashboard(
        stack, "Dashboard", dashboard_name=f"onthedot-{config.stage}", default_interval=Duration.hours(3)
    )
    made.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=3 * WIDTH, height=4))
    made.add_widgets(*_runs(config))
    made.add_widgets(*_parts(config))
    made.add_widgets(*_services(config))
    return made


def _runs(config: StageConfig) -> list[cloudwatch.IWidget]:
    late = [own(config, LATENESS, statistic, PERIOD) for statistic in PERCENTILES]
    ends = [own(config, name, "Sum", PERIOD) for name in (SUCCEEDED, "failed", "retried", LOST, DEAD)]
    skips = [own(config, f"skipped_{word}", "Sum", PERIOD) for word in SKIPS]
    return [_graph("Lateness (ms)", late), _graph("Ends of attempts and runs", ends), _graph("Skipped", skips)]


def _parts(config: StageConfig) -> list[cloudwatch.IWidget]:
    ticks = [
        own(config, SENT, "SampleCount", PERIOD).with_(label="ticks"),
        own(config, SENT, "Sum", PERIOD).with_(label="runs sent"),
        *(own(config, name, "Sum", PERIOD) for name in ("unsent", "late_ticks", FAULTS)),
    ]
    waits = ("waits_at_gate", "waits_for_queue", "waits_for_pool", WAITING_LONG)
    attention = (UNSETTLED, UNDELIVERABLE, THROTTLED, "workers_missing")
    return [
        _graph("Ticks", ticks),
        _graph("Waiting", [own(config, name, "Sum", PERIOD) for name in waits]),
        _graph("To look at", [own(config, name, "Sum", PERIOD) for name in attention]),
    ]


def _services(config: StageConfig) -> list[cloudwatch.IWidget]:
    queues = ["tick", *(key for pool in config.all_pools if pool.kind is PoolKind.PUSH for key in queue_keys(pool))]
    api = {"ApiName": config.name("api"), "Stage": config.stage}
    return [
        _graph("Age of the oldest message (s)", [_of_queue(config, _AGE, key) for key in queues]),
        _graph("Messages that wait", [_of_queue(config, _DEPTH, key) for key in queues]),
        _graph(
            "API",
            [of_aws("ApiGateway", name, "Sum", PERIOD, **api) for name in ("Count", "5XXError")],
            [
                of_aws("ApiGateway", "Latency", statistic, PERIOD, f"latency {statistic}", **api)
                for statistic in PERCENTILES
            ],
        ),
        _of_functions(config, "Errors", "Sum", FUNCTIONS),
        _of_functions(config, "Duration", "p99", BUSY),
        _of_functions(config, "Throttles", "Sum", BUSY[:2]),
    ]


def _of_queue(config: StageConfig, name: str, key: str) -> cloudwatch.Metric:
    return of_aws("SQS", name, "Maximum", PERIOD, key, QueueName=config.name(key))


def _of_functions(config: StageConfig, name: str, statistic: str, functions: Sequence[str]) -> cloudwatch.IWidget:
    metrics = [
        of_aws("Lambda", name, statistic, PERIOD, function, FunctionName=config.name(function))
        for function in functions
    ]
    return _graph(f"{name} of functions ({statistic})", metrics)


def _graph(
    title: str, left: Sequence[cloudwatch.IMetric], right: Sequence[cloudwatch.IMetric] = ()
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), right=list(right), width=WIDTH, height=HEIGHT)
