"""The result of a command with several steps: words for people, or one JSON document."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import click

result_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document, and the steps to stderr."
)


@contextmanager
def steps(*, as_json: bool) -> Iterator[None]:
    """With `as_json`, print everything in the block to stderr, so that stdout has only the document after it."""
    if not as_json:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def goes_to_stderr() -> bool:
    """Return whether this is inside of such a block. A child process does not know it by itself."""
    return sys.stdout is sys.stderr
