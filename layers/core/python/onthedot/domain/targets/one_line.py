"""A target as one line for people, without its secrets."""

from typing import Final
from urllib.parse import urlsplit

from onthedot.domain.targets.redaction import HIDDEN, redacted
from onthedot.domain.targets.types import (
    AwsTarget,
    GrpcTarget,
    HttpTarget,
    LambdaTarget,
    PythonTarget,
    ShellTarget,
    Target,
    type_of,
)

MOST_CHARACTERS: Final = 200


def one_line(target: Target) -> str:
    """Return the target as one line, such as `POST https://example.com/hook` or `python send-email`.

    The query of a URL is hidden, and every text elsewhere that looks like a secret.
    """
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(_line(target).split()))
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def _line(target: Target) -> str:
    match target:
        case HttpTarget():
            said = f"{target.method} {_shown_url(target.url)}"
        case LambdaTarget():
            said = f"lambda {target.function}"
        case AwsTarget():
            said = f"aws {target.service} {target.action}"
        case ShellTarget():
            said = redacted(f"shell {' '.join(target.argv)}")
        case GrpcTarget():
            said = f"grpc {redacted(target.address)} {target.method}"
        case PythonTarget():
            said = f"python {target.handler}"
        case _:
            said = f"{type_of(target)} {target.name}".strip()
    return said


def _shown_url(url: str) -> str:
    """Return the URL without user, password, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return redacted(url)
    place = parts.netloc.rpartition("@")[2]
    query = f"?{HIDDEN}" if parts.query else ""
    return redacted(f"{parts.scheme}://{place}{parts.path}{query}")
