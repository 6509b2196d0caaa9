"""The page of all lifecycle events: detail-types, when they are published, and the fields of `detail`."""

from dataclasses import replace
from typing import Final

from docs.generator.markdown import anchor, code, json_text, page, table

from onthedot.core.choices import Priority
from onthedot.core.clock import NOON
from onthedot.core.records import Definition, Record, Status
from onthedot.events.lifecycle import ENDS, SOURCE, STEPS, event_of
from onthedot.targets.types import HttpTarget

_TEXT: Final = f"""\
All events that onthedot publishes, with the source `{SOURCE}`, made from the code that publishes them. Promises,
fields and an example of each: [events.md](../events.md)."""


def events_page() -> str:
    rows = [(_named(name), _when(name)) for name in sorted(ENDS | STEPS)]
    return page("Lifecycle events", _TEXT, table(("detail-type", "published"), rows), "## An example", _example())


def _when(name: str) -> str:
    return "always" if name in ENDS else "with the context value `publish_all_changes`"


def _named(name: str) -> str:
    heading = f"`{name}`{' (always)' if name in ENDS else ''}"
    return f"[`{name}`](../events.md#{anchor(heading)})"


def _example() -> str:
    job = "job_p4lr2upbz3zjp5vfk4bckgyzhm"
    old = Record(
        run_id=job,
        job_id=job,
        tenant="acme",
        definition=Definition(HttpTarget("https://example.com/report"), name="report"),
        priority=Priority.MEDIUM,
        pool="default",
        created_at=NOON,
        nominal_at=NOON,
        fire_at=NOON,
        status=Status.RUNNING,
        generation="",
        revision=2,
        attempt=1,
    )
    event = event_of(old, replace(old, status=Status.SUCCEEDED, revision=3, finished_at=NOON + 250), NOON + 250)
    assert event is not None
    return code("json", json_text({"source": SOURCE, "detail-type": event.detail_type, "detail": dict(event.detail)}))
