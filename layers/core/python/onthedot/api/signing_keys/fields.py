"""Models of the requests about signing keys."""

from typing import Annotated, Final

from pydantic import Field

from onthedot.api.core.fields import Fields

LEAST_OVERLAP_SECONDS: Final = 120
"""Workers remember keys for a minute, so the old key must sign for longer than that."""
MAX_OVERLAP_SECONDS: Final = 30 * 86_400


class RotateFields(Fields):
    """A request to rotate the keys. The API makes a new key at once. The old key also signs until the overlap ends."""

    overlap_seconds: Annotated[
        int,
        Field(ge=LEAST_OVERLAP_SECONDS, le=MAX_OVERLAP_SECONDS, description="how long the old key goes on signing"),
    ] = 86_400
