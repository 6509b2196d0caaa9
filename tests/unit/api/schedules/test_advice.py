"""Advice leads to the meaning that was asked for: each text that a refusal suggests is submitted and fires as meant.

`follow` finds the suggested texts in a message. The tables say what each leads to, so that a new advice without a row
fails here.
"""

import re
from typing import Any

import pytest

from onthedot.core.errors import InvalidRequest
from onthedot.schedules.api import read_preview
from tests.unit.domain.schedules import test_cron_reading, test_eventbridge, test_spread
from tests.unit.domain.schedules.oracle import ms, utc

AFTER = "2026-03-01T00:00:00Z"
FIELDS = ["minute", "hour", "day-of-month", "month", "day-of-week", "year"]
EXPRESSIONS = [
    expression
    for module in (test_cron_reading, test_eventbridge, test_spread)
    for expression, _ in module.REFUSALS
    if expression.isascii() and len(expression) < 60 and expression != "H * * * *"
]

Document = dict[str, Any]


def message_for(document: Document) -> str | None:
    try:
        read_preview({"after": AFTER, **document}, ms(utc("2026-03-01")))
    except InvalidRequest as refusal:
        return refusal.problems[0].message
    return None


def follow(expression: str, message: str) -> list[Document]:
    """The documents that a user submits who follows the advice."""
    intervals = re.findall(r"use every with (\d+|rate\(\d+ \w+\))", message)
    found: list[Document] = [{"every": int(text) if text.isdigit() else text} for text in intervals]
    field = re.match(r"([a-z-]+) field: '(.+?)' ", message)
    places = re.findall(r"(\S+) as (day-of-month|day-of-week)", message)
    whole = re.search(r"write (cron\(.*\)|(?:\S+ ){4}\S+)$", message)
    if field is None and whole:
        found.append({"cron": whole[1]})
    elif field is None:
        found += [{"cron": replaced(expression, name, None, text)} for text, name in places]
    else:
        texts = re.findall(r"write (\S+?)(?=,? |;|$)(?! or )", message) + re.findall(r", (\S+) for the", message)
        elsewhere = {text for text, _ in places}
        found += [{"cron": replaced(expression, field[1], field[2], text)} for text in texts if text not in elsewhere]
    return found


def replaced(expression: str, name: str, item: str | None, text: str) -> str:
    """The expression with one of its items, or a whole field, replaced."""
    wrapped = expression.strip().lower().startswith("cron(")
    fields = (expression.strip()[5:-1] if wrapped else expression).upper().split()
    place = FIELDS.index(name)
    fields[place] = text if item is None else fields[place].replace(item, text)
    return f"cron({' '.join(fields)})" if wrapped else " ".join(fields)


def fires(document: Document, count: int) -> str:
    found = read_preview({"after": AFTER, "count": count, **document}, ms(utc("2026-03-01")))
    return " ".join(fire["local"][2:16] for fire in found["fire_times"])


HOURLY, DAILY = "26-03-01T01:00 26-03-01T02:00", "26-03-02T00:00 26-03-03T00:00"
NOONS = "26-03-01T12:00 26-03-02T12:00"
EVERY_MINUTE = "26-03-01T00:01 26-03-01T00:02"
MEANT: dict[str, list[tuple[Document, str]]] = {
    "0 * * * * *": [({"cron": "* * * * *"}, EVERY_MINUTE)],
    "0 12 * * ? *": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "0 12 * * ? 2030": [({"cron": "cron(0 12 * * ? 2030)"}, "30-01-01T12:00 30-01-02T12:00")],
    "0 0 12 ? * MON-FRI": [({"cron": "cron(0 12 ? * MON-FRI *)"}, "26-03-02T12:00 26-03-03T12:00")],
    "0 0 12 ? * 2#1 2030": [({"cron": "cron(0 12 ? * 2#1 2030)"}, "30-01-07T12:00 30-02-04T12:00")],
    "0 30 9 * * 1-5": [({"cron": "30 9 * * 1-5"}, "26-03-02T09:30 26-03-03T09:30")],
    "rate(5 minutes)": [({"every": "rate(5 minutes)"}, "26-03-01T00:05 26-03-01T00:10")],
    "@every 5m": [({"every": 300}, "26-03-01T00:05 26-03-01T00:10")],
    "@every 1h30m": [({"every": 5400}, "26-03-01T01:30 26-03-01T03:00")],
    # A step that is larger than its field: once in the next larger unit, or an interval.
    "*/61 * * * *": [({"every": 3660}, "26-03-01T01:01 26-03-01T02:02"), ({"cron": "0 * * * *"}, HOURLY)],
    "*/99999999999 * * * *": [({"cron": "0 * * * *"}, HOURLY)],
    "7/90 * * * *": [
        ({"every": 5400}, "26-03-01T01:30 26-03-01T03:00"),
        ({"cron": "7 * * * *"}, "26-03-01T00:07 26-03-01T01:07"),
    ],
    "cron(0/90 * * * ? *)": [
        ({"every": 5400}, "26-03-01T01:30 26-03-01T03:00"),
        ({"cron": "cron(0 * * * ? *)"}, HOURLY),
    ],
    "0 */36 * * *": [({"every": 129600}, "26-03-02T12:00 26-03-04T00:00"), ({"cron": "0 0 * * *"}, DAILY)],
    "0 0 */31 * *": [
        ({"every": 31 * 86400}, "26-04-01T00:00 26-05-02T00:00"),
        ({"cron": "0 0 1 * *"}, "26-04-01T00:00 26-05-01T00:00"),
    ],
    "0 0 1 */18 *": [({"cron": "0 0 1 1 *"}, "27-01-01T00:00 28-01-01T00:00")],
    "0 9-17/9 * * *": [({"cron": "0 9 * * *"}, "26-03-01T09:00 26-03-02T09:00")],
    "5-5/1 * * * *": [({"cron": "5 * * * *"}, "26-03-01T00:05 26-03-01T01:05")],
    "0 0 * * 7/2": [({"cron": "0 0 * * 0/2"}, "26-03-03T00:00 26-03-05T00:00 26-03-07T00:00 26-03-08T00:00")],
    # Spellings.
    "*,5 * * * *": [({"cron": "* * * * *"}, EVERY_MINUTE)],
    "0 0 ?,5 * *": [({"cron": "0 0 ? * *"}, DAILY)],
    "? * * * *": [({"cron": "* * * * *"}, EVERY_MINUTE)],
    "0 0 */2,5 * *": [({"cron": "0 0 1-31/2,5 * *"}, "26-03-03T00:00 26-03-05T00:00")],
    "0 0 5 * 1,*/2": [({"cron": "0 0 5 * 1,0-6/2"}, "26-03-02T00:00 26-03-03T00:00 26-03-05T00:00 26-03-07T00:00")],
    "0 0 * * L": [
        ({"cron": "0 0 * * 6"}, "26-03-07T00:00 26-03-14T00:00"),
        ({"cron": "0 0 * * 6L"}, "26-03-28T00:00 26-04-25T00:00"),
    ],
    "0 0 * * MON-FRI#2": [
        (
            {"cron": "0 0 * * MON#2,TUE#2,WED#2,THU#2,FRI#2"},
            "26-03-09T00:00 26-03-10T00:00 26-03-11T00:00 26-03-12T00:00 26-03-13T00:00 26-04-08T00:00",
        )
    ],
    "0 0 * * MONS": [({"cron": "0 0 * * MON"}, "26-03-02T00:00 26-03-09T00:00")],
    "0 0 * * THURSL": [({"cron": "0 0 * * THUL"}, "26-03-26T00:00 26-04-30T00:00")],
    "0 0 1 sept *": [({"cron": "0 0 1 SEP *"}, "26-09-01T00:00 27-09-01T00:00")],
    "0 0 */100,1-7 * MON": [({"cron": "0 0 1,1-7 * MON"}, "26-03-02T00:00 26-03-03T00:00")],
    # The last day of months that do not have the day.
    "0 0 30 2 *": [({"cron": "0 0 L 2 *"}, "27-02-28T00:00 28-02-29T00:00")],
    "0 0 31 4,6,9,11 *": [({"cron": "0 0 L 4,6,9,11 *"}, "26-04-30T00:00 26-06-30T00:00")],
    "0 0 L-30 2 *": [({"cron": "0 0 L 2 *"}, "27-02-28T00:00 28-02-29T00:00")],
    "0 0 30W 2 *": [({"cron": "0 0 LW 2 *"}, "27-02-26T00:00 28-02-29T00:00")],
    "cron(0 0 31 2 ? *)": [({"cron": "cron(0 0 L 2 ? *)"}, "27-02-28T00:00 28-02-29T00:00")],
    # EventBridge's rules.
    "cron(0 12 * * ? *": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "cron(0 12 * * ?)": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "cron(0 12 * * *)": [({"cron": "0 12 * * *"}, NOONS)],
    "cron(0 12 * * * *)": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "cron(0 12 1 * * *)": [({"cron": "cron(0 12 1 * ? *)"}, "26-03-01T12:00 26-04-01T12:00")],
    "cron(0 12 * * MON *)": [({"cron": "cron(0 12 ? * MON *)"}, "26-03-02T12:00 26-03-09T12:00")],
    "cron(0 12 ? * ? *)": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "cron(0 12 ? * TUES *)": [({"cron": "cron(0 12 ? * TUE *)"}, "26-03-03T12:00 26-03-10T12:00")],
    "cron(? 12 * * ? *)": [({"cron": "cron(* 12 * * ? *)"}, "26-03-01T12:00 26-03-01T12:01")],
    "cron(0 12 * * ? ?)": [({"cron": "cron(0 12 * * ? *)"}, NOONS)],
    "cron(0 12 * * ? 2030-2028)": [({"cron": "cron(0 12 * * ? 2028-2030)"}, "28-01-01T12:00 28-01-02T12:00")],
    "cron(0 12 * * ? 2030-2020/5)": [({"cron": "cron(0 12 * * ? 2020-2030/5)"}, "30-01-01T12:00 30-01-02T12:00")],
    # H: the example that a preview shows has one value of the range.
    "H(5-5) * * * *": [({"cron": "5 * * * *"}, "26-03-01T00:05 26-03-01T01:05")],
}
"""The documents of each refused expression, and their first fire times."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_advice_leads_to_the_meaning(expression: str) -> None:
    message = message_for({"cron": expression})
    assert message is not None
    followed = follow(expression, message)
    if expression.upper().startswith("H") and expression not in MEANT:
        assert all(message_for(document) is None for document in followed)
        return
    assert followed == [document for document, _ in MEANT.get(expression, [])], message
    for document, meant in MEANT.get(expression, []):
        assert fires(document, len(meant.split())) == meant


@pytest.mark.parametrize(
    ("advice", "document", "meant"),
    [
        ("L as day-of-month for the last day", {"cron": "0 0 L * *"}, "26-03-31T00:00 26-04-30T00:00"),
        ("5L as day-of-week for the last Friday", {"cron": "0 0 * * 5L"}, "26-03-27T00:00 26-04-24T00:00"),
        ("MON#1 as day-of-week is the first Monday", {"cron": "0 0 * * MON#1"}, "26-03-02T00:00 26-04-06T00:00"),
        ("1#2 or MON#2 for the second Monday", {"cron": "0 0 * * 1#2"}, "26-03-09T00:00 26-04-13T00:00"),
        ("1#2 or MON#2 for the second Monday", {"cron": "0 0 * * MON#2"}, "26-03-09T00:00 26-04-13T00:00"),
        ("15W or LW as day-of-month for the nearest or last", {"cron": "0 0 15W * *"}, "26-03-16T00:00 26-04-15T00:00"),
        ("15W or LW as day-of-month for the nearest or last", {"cron": "0 0 LW * *"}, "26-03-31T00:00 26-04-30T00:00"),
    ],
)
def test_an_example_in_advice_means_what_it_says(advice: str, document: Document, meant: str) -> None:
    messages = [message_for({"cron": expression}) or "" for expression in EXPRESSIONS]
    assert any(advice in message for message in messages)
    assert fires(document, len(meant.split())) == meant


@pytest.mark.parametrize(
    ("refused", "text", "document", "meant"),
    [
        ({"every": "rate(2 weeks)"}, "rate(14 days)", {"every": "rate(14 days)"}, "26-03-15T00:00 26-03-29T00:00"),
        ({"every": "2 hours"}, "write rate(2 hours)", {"every": "rate(2 hours)"}, "26-03-01T02:00 26-03-01T04:00"),
        ({"every": "5"}, "rate(5 minutes)", {"every": "rate(5 minutes)"}, "26-03-01T00:05 26-03-01T00:10"),
        ({"cron": "0 9 * * *", "timezone": "europe/berlin"}, "Europe/Berlin", {"cron": "0 9 * * *"}, "26-03-01T09:00"),
    ],
)
def test_advice_of_other_fields_leads_to_the_meaning(
    refused: Document, text: str, document: Document, meant: str
) -> None:
    assert text in (message_for(refused) or "")
    assert fires(document, len(meant.split())) == meant
