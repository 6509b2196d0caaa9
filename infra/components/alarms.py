"""The two kinds of alarms: a number above its threshold, and an event that did not happen."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct


def alarm_above(
    scope: Construct, construct_id: str, *, name: str, metric: cloudwatch.Metric, threshold: float, why: str
) -> cloudwatch.Alarm:
    """Make an alarm that goes off when one period is above the threshold. Missing data is no alarm."""
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
    """Make an alarm for an event that must happen in every period. It goes off after that many periods without it."""
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
