"""Executions counted by the names of their jobs: who uses the capacity."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from onthedot.cli.common.documents import print_document
from onthedot.cli.common.durations import briefly
from onthedot.cli.limit_text import is_for_people, print_next, print_rows
from onthedot.cli.text import printable

COLUMNS: Final = ("COUNT", "NAME", "JOBS", "POOL", "LONGEST")
MOST_COUNTED: Final = 10_000
"""Executions that are counted. A larger number says nothing more."""


def print_by_name(found: Iterable[dict[str, Any]], limit: int, *, as_json: bool) -> None:
    """Print how many of the executions the jobs of each name have, the most first. A job without a name is alone."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        groups.setdefault(str(one.get("name") or one["job_id"]), []).append(one)
    largest = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    if as_json:
        for name, ones in largest[:limit]:
            print_document(_document(name, ones))
        return
    rows = [_row(_document(name, ones), for_people=is_for_people()) for name, ones in largest[:limit]]
    print_rows(COLUMNS, rows, "There is no such execution.")
    total = sum(len(ones) for ones in groups.values())
    if total == MOST_COUNTED:
        click.echo(f"Only the newest {total:,} were counted.", err=True)
    if rows:
        print_next(f"onthedot list --name {printable(largest[0][0])}")


def _document(name: str, ones: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "executions": len(ones),
        "jobs": len({one["job_id"] for one in ones}),
        "pools": sorted({str(one["pool"]) for one in ones if one.get("pool")}),
        "longest_running_ms": max((one.get("running_ms") or 0 for one in ones), default=0) or None,
    }


def _row(counted: dict[str, Any], *, for_people: bool) -> tuple[str, ...]:
    longest = counted["longest_running_ms"]
    ran = "-" if longest is None else briefly(longest / 1000) if for_people else f"{longest / 1000:,.3f} s"
    return (
        f"{counted['executions']:,}",
        counted["name"],
        f"{counted['jobs']:,}",
        ", ".join(counted["pools"]) or "-",
        ran,
    )
