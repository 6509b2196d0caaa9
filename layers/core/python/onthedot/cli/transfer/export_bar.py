"""The bar of `onthedot export`."""

from typing import Any

from rich.progress import Progress


class ExportBar:
    """A bar of the stored things that an export has read. It has a total as soon as a page names one."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("exporting", total=None)
        self._read = 0
        self._total: int | None = None

    def say(self, text: str) -> None:
        """Show a text beside the bar."""
        self._bar.update(self._task, description=text)

    def add(self, page: Any, entries: int) -> None:
        """Show that a page was read, and how many entries there are so far."""
        # A stage of an earlier version sends neither number.
        self._read += page.get("read", 0)
        self._total = page.get("about_total") or self._total
        total = None if self._total is None else max(self._total, self._read)
        self._bar.update(self._task, total=total, completed=self._read, description=f"{entries:,} entries")

    def fill(self) -> None:
        """Show that everything was read. The total was only about right."""
        # A bar of 0 things would be empty.
        whole = max(self._read, 1)
        self._bar.update(self._task, total=whole, completed=whole)
