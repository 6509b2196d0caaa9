"""Models of the requests about dead letters."""

from typing import Annotated, Final

from pydantic import Field

from onthedot.api.core.fields import Fields, RunId
from onthedot.api.core.reading import read_body
from onthedot.domain.errors import InvalidRequest, Problem

MAX_REDRIVEN: Final = 500


class RedriveFields(Fields):
    """The dead letters to run again: either `ids`, or `all` with true. Ten of them are run each second."""

    ids: Annotated[
        list[RunId] | None, Field(min_length=1, max_length=MAX_REDRIVEN, description="executions to run again")
    ] = None
    all: Annotated[bool | None, Field(description="run all dead letters again, as many as one call has time for")] = (
        None
    )


def read_redrive(body: bytes) -> RedriveFields:
    """Return the fields of a redrive. Raise ApiError and InvalidRequest."""
    fields = read_body(RedriveFields, body)
    if (fields.ids is None) == (fields.all is None):
        raise InvalidRequest(Problem("ids", "give either ids or all"))
    if fields.all is False:
        raise InvalidRequest(Problem("all", "is false; give true, or ids"))
    return fields
