"""A reason that people and programs read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A stable code for programs and a sentence for people."""

    code: str
    message: str
