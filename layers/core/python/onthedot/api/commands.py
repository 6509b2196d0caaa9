"""The commands and the client's methods that do the same as calls of the API.

The OpenAPI document has them as extensions of operations, of the fields of bodies and of headers, so that the console
can show each call as a command and as Python. A field that is not here is the option `--the-field TEXT`, and an
argument of its own name. Those of jobs come from the table of their fields.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

COMMAND_LINE: Final = "x-onthedot-cli"
"""The extension that says the command of an operation, or how the command line writes a field."""
CLIENT: Final = "x-onthedot-client"
"""The extension that names the method of the client."""


class Same(NamedTuple):
    """What does the same as an operation."""

    command: str
    """Its words may have places of the path and of the body: `pause {id}`. `@` stands before a file with the body."""
    method: str
    """It takes the places of the command in their order. The other fields are arguments by name."""


def written(option: str = "", form: str = "", argument: str = "", *, is_whole: bool = False) -> dict[str, Any]:
    """Return the extension of a field.

    Forms: `json`; `seconds`; `switch`, on or off; `flag`, an option without a value; `repeated`, an option for each
    entry; `pairs`, one for each key=value; `parts`, an object whose parts have options; `filters`, an object whose
    fields are options; `words`, the entries after the command. `is_whole`: the value replaces the current one, so parts
    that are left out have their defaults.
    """
    known = {"option": option, "form": form, "argument": argument, "whole": is_whole}
    said = {name: value for name, value in known.items() if value}
    return {COMMAND_LINE: said} if said else {}


OPERATIONS: Final[Mapping[str, Same]] = {
    "submit": Same("schedule", "schedule"),
    "show_job": Same("get {id}", "get"),
    "change": Same("change {id}", "change"),
    "delete": Same("delete {id}", "delete"),
    "explain": Same("explain {id}", "explain"),
    "pause": Same("pause {id}", "pause"),
    "resume": Same("resume {id}", "resume"),
    "cancel": Same("cancel {id}", "cancel"),
    "run": Same("run {id}", "run"),
    "act_on_many": Same("{action}", "bulk"),
    "redrive": Same("redrive", "redrive"),
    "set_gate": Same("gates set {name}", "set_gate"),
    "show_gate": Same("gates show {name}", "gate"),
    "delete_gate": Same("gates delete {name}", "delete_gate"),
    "show_forecast": Same("forecast", "forecast"),
    "submit_graph": Same("workflow start @workflow.json", "workflow"),
    "show_workflow": Same("workflow show {id}", "get_workflow"),
}
"""By the id of the operation."""
HEADERS: Final[Mapping[str, dict[str, Any]]] = {"If-Match": written("--if-version", argument="if_version")}
FIELDS: Final[Mapping[str, Mapping[str, dict[str, Any]]]] = {
    "BulkFields": {"filter": written("--all", "filters"), "ids": written(form="words")},
    "GateFields": {"paused": written(form="flag")},
    "RedriveFields": {
        "all": written(form="flag", argument="everything"),
        "from": written("--since", argument="since"),
        "ids": written(form="words"),
        "job_id": written("--job", argument="job"),
        "to": written("--until", argument="until"),
    },
    "RunFields": {"payload": written(form="json")},
}
"""By the name of the schema and of its property."""
