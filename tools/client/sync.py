"""Make the client for programs that wait from the one for event loops."""

import re
from collections.abc import Sequence
from typing import Final

_MODULE_DOC: Final = '"""The client of the REST API for programs that wait for its answers."""'
_CLASS_DOC: Final = '''\
"""A client of the API. It is safe to use from several threads. Close it, or use it as a context manager.

    Without arguments it calls the API of ONTHEDOT_URL with ONTHEDOT_TOKEN, or else the local stack. It repeats calls
    that failed in a way that may pass, a bounded number of times, and only calls that have no second effect. Methods
    raise ClientError.
    """
'''
_RULES: Final[Sequence[tuple[str, str]]] = (
    (r'"""The client of the REST API.*?"""', _MODULE_DOC),
    (r'"""A client of the API for an event loop\..*?"""\n', _CLASS_DOC),
    (r"# Only with an event loop\n.*?# End\n", ""),
    (r"import builtins\n", "import builtins\nimport time\n"),
    (r"\bAsync(Client|Iterator)\b", r"\1"),
    (r"Awaitable\[(\w+)\]", r"\1"),
    (r"await _in_thread\(([\w.]+)(?:, )?", r"\1("),
    (r"= _sleep\b", "= time.sleep"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\b(?:async|await) ", ""),
)


def sync_client(source: str) -> str:
    """Return the source without `async` and `await`. Raise ValueError for a rule that has nothing to do any more."""
    for pattern, replacement in _RULES:
        source, count = re.subn(pattern, replacement, source, flags=re.DOTALL if ".*?" in pattern else 0)
        if not count:
            raise ValueError(f"nothing in the client matches {pattern!r}")
    return source
