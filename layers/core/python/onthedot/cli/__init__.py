"""The command line. Commands are loaded when they are called; `onthedot --help` loads none of them.

It may import click and rich. Everything else comes with an extra and is imported inside the function that
needs it; a command that lacks its extra names it. boto3 is never imported here.

stdout has data only; notes, progress and the next useful command go to stderr. `--json` prints the API's document,
and JSON lines for lists. In a pipe a table is columns with tabs. A user's text is made printable and never read as
markup.

Exit codes: 0 done, 1 anything else, 2 wrong command line or ambiguous name, 3 the API refuses, 4 there is no such
thing, 5 the API cannot be reached or answer.

A command takes a job's name wherever it takes an id. The name must belong to one job: among recurring and event jobs,
or else among the newest one-off jobs.
"""
