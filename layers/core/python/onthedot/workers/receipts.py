"""Seal the receipts for workers that have only an API token, so that each receipt is valid for its own attempt only.

A queue's receipt may be guessed, or be another run's. So the seal is made with the attempt token, which no view shows.
A receipt whose seal does not fit touches no message.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from onthedot.core.records import Record

_SEAL_CHARACTERS: Final = 24


@dataclass(frozen=True, slots=True)
class SealedReceipt:
    """A receipt as a worker sends it back."""

    text: str

    def opened(self, run: Record) -> str | None:
        """Return the queue's receipt. None: the receipt does not belong to this attempt of the run."""
        seal, _, receipt = self.text.partition(".")
        return receipt if hmac.compare_digest(seal.encode(), _seal(run, receipt).encode()) else None


def sealed(run: Record, receipt: str) -> str:
    """Return the receipt as a worker gets it."""
    return f"{_seal(run, receipt)}.{receipt}"


def _seal(run: Record, receipt: str) -> str:
    content = f"{run.run_id}/{run.attempt}/{receipt}".encode()
    return hmac.new((run.attempt_token or "").encode(), content, hashlib.sha256).hexdigest()[:_SEAL_CHARACTERS]
