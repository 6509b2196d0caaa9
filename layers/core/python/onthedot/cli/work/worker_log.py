"""Write a worker's log to standard error: a line for people, or a JSON object for programs."""

import json
import logging
import sys
from typing import Any, Final

from onthedot.cli.text import printable
from onthedot.domain.instants import format_instant
from onthedot.observability import METRICS_LOG

_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A log formatter that writes one JSON object per line, with the extra fields of the log record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = {
            "time": format_instant(int(record.created * 1000)),
            "level": record.levelname,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PlainLines(logging.Formatter):
    """A log formatter for people: time, level, action word, then the extra fields with a value."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """Return the line without its exception."""
        extra = (f" {name}={value}" for name, value in _extra(record).items() if value is not None)
        return super().formatMessage(record) + printable("".join(extra))


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def set_up_logging(*, as_json: bool) -> None:
    """Log onthedot's records from INFO on, and those of other packages from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else PlainLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("onthedot").setLevel(logging.INFO)
    # Lines of metrics are for CloudWatch, which reads JSON.
    logging.getLogger(METRICS_LOG).setLevel(logging.INFO if as_json else logging.WARNING)
