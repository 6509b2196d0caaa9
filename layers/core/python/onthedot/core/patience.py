"""Time limits for single steps, in milliseconds. After its limit, a use case stops trying the step.

The API has 28 s for an answer, so the steps of one request together take less.
"""

from typing import Final

ASK_MS: Final = 1_000
"""For asking whether a run may start by limits. After that they may be old, and are asked for again."""
READ_MS: Final = 5_000
"""For reading the parents of a job."""
SEND_MS: Final = 5_000
"""For sending messages of runs. A run that is not sent by then stays in its watch slot, and the sweep sends it."""
CREATE_MS: Final = 10_000
"""For storing the jobs of a batch."""
SEND_BATCH_MS: Final = 8_000
"""For sending, linking and stamping the jobs of a batch."""
NOTIFY_MS: Final = 10_000
"""For notifying the children of a run that ended. The sweep notifies the rest."""
READ_WORKFLOW_MS: Final = 10_000
"""For reading the jobs of a workflow."""
REQUEST_MS: Final = 15_000
"""For a whole request about many runs: a backfill, a redrive, a forecast, the end of a graph."""
