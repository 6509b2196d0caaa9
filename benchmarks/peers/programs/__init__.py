"""Programs that run one tool each, in an environment with that tool's packages. They import nothing of onthedot."""
