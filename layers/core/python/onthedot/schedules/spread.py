"""`H` in a cron expression: a value that the id of the job chooses, so that many jobs do not fire at once.

`H` is any value of its field, `H(0-29)` one of a range, `H/15` and `H(0-29)/10` are steps from a chosen start. croniter
resolves them. The plain fields are stored and shown, so a job keeps its times. `H` as day-of-month is a day up to 28,
so that no month is skipped.
"""

import re
from typing import Final

from onthedot.schedules import cron_fields
from onthedot.schedules.cron import checked, five_fields, parse_cron
from onthedot.schedules.cron_fields import CronField, refuse

EXAMPLE_ID: Final = "example"
"""The id for which an expression is resolved before there is a job."""

_HAS_H: Final = re.compile(r"(?!\s*cron\()(?:.*[\s,])?H(?![A-Z])", re.IGNORECASE | re.DOTALL)
_ITEM: Final = re.compile(r"H(?:\(([0-9]{1,9})-([0-9]{1,9})\))?(?:/([0-9]{1,9}))?")
_LAST_DAY: Final = 28
_FIELDS: Final = (
    cron_fields.MINUTE,
    cron_fields.HOUR,
    cron_fields.DAY,
    cron_fields.MONTH,
    cron_fields.WEEKDAY,
)


def has_h(expression: str) -> bool:
    """EventBridge's `cron(…)` has none."""
    return _HAS_H.match(expression) is not None


def plain_expression(expression: str, job_id: str) -> str:
    """Return the expression with each `H` resolved for the job. Without an `H` it stays as it is. Raise BadCron."""
    if not has_h(expression):
        parse_cron(expression)
        return expression
    fields = five_fields(checked(expression))
    plain = " ".join(_field(number, text, job_id) for number, text in enumerate(fields))
    parse_cron(plain)
    return plain


def _field(number: int, text: str, job_id: str) -> str:
    items = text.split(",")
    return ",".join(_item(number, item, job_id) if re.match(r"H(?![A-Z])", item) else item for item in items)


def _item(number: int, item: str, job_id: str) -> str:
    spec = _FIELDS[number]
    match = _ITEM.fullmatch(item)
    if match is None:
        raise refuse(spec, item, "cannot be read; write H, H/15, H(0-29) or H(0-29)/10")
    low, high = _bounds(spec, item, match[1], match[2])
    step = None if match[3] is None else _step(spec, item, high - low, int(match[3]))
    # Each field has its own id, so that the values of two fields do not depend on each other.
    return _written(_values(number, low, high, step, f"{job_id}/{spec.name}"), low, high)


def _bounds(spec: CronField, item: str, first: str | None, last: str | None) -> tuple[int, int]:
    most = _LAST_DAY if spec is cron_fields.DAY else spec.high
    if first is None or last is None:
        return spec.low, most
    low, high = int(first), int(last)
    if not (spec.low <= low <= most and spec.low <= high <= most):
        raise refuse(spec, item, f"is out of range; give a part of H({spec.low}-{most})")
    if low >= high:
        raise refuse(spec, item, f"has no range to choose from; {_ordered(low, high, item)}")
    return low, high


def _ordered(low: int, high: int, item: str) -> str:
    return f"write {low}" if low == high else f"write H({high}-{low}){item.partition(')')[2]}"


def _step(spec: CronField, item: str, span: int, step: int) -> int:
    if not 1 <= step <= span:
        raise refuse(spec, item, f"has a step that does not fit; give 1-{span}, or write {item.partition('/')[0]}")
    return step


def _values(number: int, low: int, high: int, step: int | None, hash_id: str) -> list[int | str]:
    """`["*"]` stands for all values of the field."""
    from croniter import croniter  # type: ignore[import-untyped] # noqa: PLC0415 - only expressions with H need it

    item = f"H({low}-{high})" + ("" if step is None else f"/{step}")
    fields = [item if place == number else "*" for place in range(len(_FIELDS))]
    expanded, _ = croniter.expand(" ".join(fields), hash_id=hash_id.encode())
    return list(expanded[number])


def _written(values: list[int | str], low: int, high: int) -> str:
    """Return the values in the shortest spelling: one, a list of two, or a range with its step."""
    if values == ["*"]:
        return f"{low}-{high}"
    numbers = [int(value) for value in values]
    if len(numbers) < 3:
        return ",".join(map(str, numbers))
    step = numbers[1] - numbers[0]
    return f"{numbers[0]}-{numbers[-1]}" + (f"/{step}" if step > 1 else "")
