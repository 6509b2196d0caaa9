"""The callers of the API: the roles of tokens, and the names that a token may have."""

import unicodedata
from typing import Final

from onthedot.domain.errors import Problem

ROLES: Final = ("admin", "operator", "viewer", "worker")
"""The roles of API tokens. The API knows the calls that each of them may make."""
TEXT_PREFIX: Final = "otd_"
"""The begin of the text of every token, by which scanners of secrets find it."""
LONGEST_NAME: Final = 100
"""Most characters of a tenant's name. It is a part of many keys, which have at most a kilobyte."""
NAME_RULE: Final = (
    f"give 1 to {LONGEST_NAME} characters that can be printed, in the form NFC, without spaces around them"
)
"""The advice to a user whose text is no name."""
RESERVED_TENANT: Final = "onthedot"
"""The tenant of the stage's own jobs. No token can be made for it."""


def is_name(text: str) -> bool:
    """Return whether the text can be the name of a tenant or a token.

    Two names that look the same must not differ in spaces around them, or in the spelling of an accent.
    """
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == unicodedata.normalize("NFC", text).strip()


def token_problems(tenant: str, role: str, name: str) -> list[Problem]:
    """Return a problem for each value that a new token must not have."""
    problems = [Problem(field, NAME_RULE) for field, text in (("tenant", tenant), ("name", name)) if not is_name(text)]
    if tenant == RESERVED_TENANT:
        problems.append(Problem("tenant", f"{RESERVED_TENANT} is reserved for the stage's own jobs; give another one"))
    if role not in ROLES:
        problems.append(Problem("role", f"is not one of the roles; give {', '.join(ROLES[:-1])} or {ROLES[-1]}"))
    return problems
