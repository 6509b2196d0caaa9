"""Why a running attempt is asked to stop, and the answer that is recorded for it then."""

from typing import Final

from onthedot.ports import Answer

CANCELLED: Final = "the job was cancelled"
FENCED: Final = "another attempt owns the run"
NOT_EXTENDED: Final = "the lease could not be extended"
OVERRUN: Final = "it outlasted its time-out"
STOPPED: Final = "the worker was stopped"


def answer_for_stopped(reason: str, answer: Answer | None) -> Answer:
    """Return the answer to record for an attempt that was asked to stop for this reason.

    `answer` is the target's own answer, None when the target did not end. A success stays a success. An attempt that
    the worker had to break off is handed back, so that it does not count as a failure of the run.
    """
    if answer is not None and answer.ok:
        return answer
    if reason in (STOPPED, NOT_EXTENDED):
        return Answer(ok=False, handed_back=True, error=reason, error_class="released")
    if reason == OVERRUN:
        return Answer(ok=False, error=reason, error_class="timeout")
    if answer is not None and not answer.lost:
        return answer
    return Answer(ok=False, error=reason, error_class="cancelled", retryable=False)
