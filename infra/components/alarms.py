"""Alarms, all of one kind: a number that should not be above its threshold."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct


def alarm_above(
    scope: Construct, construct_id: str, *, name: str, metric: cloudwatch.Metric, threshold: float, why: str
) -> cloudwatch.Alarm:
    """In alarm as soon as one period is above the threshold; silence is well."""
    return cloudwatch.Alarm(
        scope,
        construct_id,
        alarm_name=name,
        alarm_description=why,
        metric=metric,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )


def alarm_on_silence(
    scope: Construct, construct_id: str, *, name: str, metric: cloudwatch.Metric, periods: int, why: str
) -> cloudwatch.Alarm:
    """In alarm when something that must happen in every period did not happen for that many in a row."""
    return cloudwatch.Alarm(
        scope,
        construct_id,
        alarm_name=name,
        alarm_description=why,
        metric=metric,
        threshold=1,
        evaluation_periods=periods,
        comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
    )
