"""`onthedot queues`: how many runs wait for workers."""

from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.screens.numbers import number, short_seconds
from onthedot.cli.where import api_options
from onthedot.client import requests

COLUMNS: Final = ("POOL", "PRIORITY", "WAITING", "OLDEST", "DELAYED", "IN FLIGHT", "DEAD LETTERS")


@click.command()
@api_options
@json_option
def queues(url: str | None, token: str | None, as_json: bool) -> None:
    """Show how many runs of all tenants wait for workers.

    WAITING runs are due and no worker has them, and OLDEST says how long the first of them waits. DELAYED ones are due
    soon. DEAD LETTERS are messages that could not be delivered. Their runs are sent again.

    \b
    Example:
      onthedot queues
    """
    found = Documents(url, token).ask(requests.queues())["queues"]
    if as_json:
        for one in found:
            print_document(one)
        return
    for_people = is_for_people()
    print_rows(COLUMNS, [_row(one, for_people=for_people) for one in found], "There is no queue.")
    for one in found:
        if one.get("error"):
            click.echo(f"{one['pool']}: {one['error']}", err=True)
    if any(one.get("waiting") for one in found):
        print_next("onthedot workers", "onthedot overview")


def _row(queue: dict[str, Any], *, for_people: bool) -> tuple[str, ...]:
    age = queue.get("oldest_age_seconds")
    return (
        str(queue["pool"]),
        str(queue.get("priority") or "all"),
        _count(queue.get("waiting"), for_people=for_people),
        short_seconds(age) if for_people else _count(age, for_people=False),
        _count(queue.get("delayed"), for_people=for_people),
        _count(queue.get("in_flight"), for_people=for_people),
        _count(queue.get("dead_letters"), for_people=for_people),
    )


def _count(value: Any, *, for_people: bool) -> str:
    if for_people:
        return number(value)
    return "-" if value is None else str(value)
