"""The whole scheduler in one process: API, ticks and workers on one SQLite file."""
