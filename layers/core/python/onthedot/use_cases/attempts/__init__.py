"""Use cases of one attempt: check and start the run, call its target, keep its lease, store how it ended."""
