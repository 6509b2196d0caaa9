"""Receipts in the hands of workers that have only a token: sealed, so that each is good for its own attempt alone.

A queue's receipt may be guessed, or be another run's. So the seal is made with the attempt's token, which nobody is
shown; what it does not fit touches no message.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from onthedot.domain.runs.records import Record

_SEAL_CHARACTERS: Final = 24


@dataclass(frozen=True, slots=True)
class SealedReceipt:
    """As a worker sends it back."""

    text: str

    def opened(self, run: Record) -> str | None:
        """The queue's receipt; None for what was not given with this attempt of the run."""
        seal, _, receipt = self.text.partition(".")
        return receipt if hmac.compare_digest(seal.encode(), _seal(run, receipt).encode()) else None


def sealed(run: Record, receipt: str) -> str:
    """As a worker is given it."""
    return f"{_seal(run, receipt)}.{receipt}"


def _seal(run: Record, receipt: str) -> str:
    content = f"{run.run_id}/{run.attempt}/{receipt}".encode()
    return hmac.new((run.attempt_token or "").encode(), content, hashlib.sha256).hexdigest()[:_SEAL_CHARACTERS]
