"""Statistics of ended runs: which change counts, the counters, and their steps over a range of time."""
