"""Alarms that call a person: each one sends to the stage's topic and links the section that says what to do."""

from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns

from onthedot.observability import NAMESPACE
from stage_config import StageConfig

RUNBOOK: Final = "docs/operations.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A metric and the values of it that call a person.

    Without `below` the alarm goes off above the threshold, and with it below the threshold. `periods` are looked at,
    and `of_them` must be bad. `silence_is_bad` says that a period without data is a bad one.
    """

    metric: cloudwatch.Metric
    threshold: float
    why: str
    below: bool = False
    periods: int = 1
    of_them: int | None = None
    silence_is_bad: bool = False


def runbook(name: str) -> str:
    """Return the link to the section about an alarm."""
    return f"{RUNBOOK}#{name}"


def alarm(stack: Stack, config: StageConfig, topic: sns.ITopic, name: str, watched: Watched) -> cloudwatch.Alarm:
    """Make the alarm `onthedot-<stage>-<name>`. The topic learns when it goes off, and when it is over."""
    comparison = cloudwatch.ComparisonOperator
    made = cloudwatch.Alarm(
        stack,
        "".join(part.capitalize() for part in name.split("-")) + "Alarm",
        alarm_name=config.name(name),
        alarm_description=f"{watched.why}. {runbook(name)}",
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
