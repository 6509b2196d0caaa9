"""Commands for operators, which work on a table."""
