"""The refusal of a target, which the API gives to a client and a performer records for a run, in the same words."""

from collections.abc import Iterator
from contextlib import contextmanager

from onthedot.domain.errors import OnthedotError


class BadTarget(OnthedotError, ValueError):
    """A target that no worker can call. Another attempt does not help.

    The message says what to change and repeats no secret. It is a ValueError so that pydantic names the field.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(f"{field} {message}" if field else message)
        self.message = message


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Name the field in the refusals that the block raises, as the API names it."""
    try:
        yield
    except BadTarget as error:
        raise BadTarget(error.message, field) from None


def check_length(text: str, limit: int) -> None:
    """Raise BadTarget when the text has more characters than the limit."""
    if len(text) > limit:
        raise BadTarget(f"is too long; give at most {limit} characters")
