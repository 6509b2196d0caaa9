"""Lists of jobs: calls that find jobs by filters."""
