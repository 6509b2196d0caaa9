"""Use cases at gates: ask for a place, wait, give it back, wake the next run, and look after a gate."""
