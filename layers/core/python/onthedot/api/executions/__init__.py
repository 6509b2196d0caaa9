"""Executions, which the code calls runs: calls that show them and that workers use to report on them."""
