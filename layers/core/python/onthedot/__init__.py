"""onthedot: a serverless, distributed job scheduler that fires on the dot."""

__version__ = "0.1.0"
