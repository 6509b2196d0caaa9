"""Jobs as clients see them: submit, change, list, bulk, dead letters, executions, explain.

`JobSpec` says each field of a job once; requests, changes, the stored form, answers, client and CLI are derived from
it. A field that equals its default is not stored. Each KB of a definition is a write unit in every write of its
record.

- Submitting is put-if-absent. With an idempotency key the id is derived from it, so a repeat finds the first job. A
  repeat sends nothing: if the first call died before its send, the sweep sends.
- A change expects the version it read. A job's record keeps its latest 20 changes, written by the change itself.
- Lists read the listing index: 8 partitions for one-off jobs and 2 for recurring and event jobs, merged in the use
  case. It holds only facts that no run changes. A page looks at up to 5,000 entries and reads up to 500 records, so
  it may be empty and have a cursor.
- Dead letters are FAILED runs, in an index of 8 partitions per tenant. Causes are the error without ids and numbers.
  Redrive keeps the attempts and starts counting failures again, ten runs a second.
- `explain` reads facts, each of which may be unavailable, and gives the rest. Its reasons have stable codes; the
  first one is what holds the job up. Answering it writes nothing.
"""

from onthedot.handlers import Context, NonRetryable, RetryAfter, job

__all__ = ["Context", "NonRetryable", "RetryAfter", "job"]
