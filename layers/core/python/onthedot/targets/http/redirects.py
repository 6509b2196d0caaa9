"""Make the request that follows a redirect, or say why the redirect is not followed.

The request obeys the same rules as the first one.
"""

from dataclasses import replace
from typing import Final
from urllib.parse import urljoin

from onthedot.domain.errors import OnthedotError
from onthedot.domain.targets.bad_target import BadTarget
from onthedot.domain.targets.header_rules import is_about_the_run
from onthedot.domain.targets.http_rules import HttpDestination, check_characters, destination_of, has_body
from onthedot.targets.answers import printable
from onthedot.targets.http.request import OutgoingRequest

MAX_REDIRECTS: Final = 5
_SEE_OTHER: Final = 303
_MOVED: Final = frozenset({301, 302})
"""Statuses that were meant to repeat the request and that clients answer with a GET. Safe only for requests without
a body."""
REDIRECTS: Final = _MOVED | {_SEE_OTHER, 307, 308}

_ABOUT_THE_BODY: Final = ("content-", "webhook-")
_NO_SECRETS: Final = ("accept", "content-", "user-agent")
"""Prefixes of the user's headers that another owner may see. Any other header may hold a secret."""


class RedirectError(OnthedotError):
    """A redirect that is not followed. Another attempt does not help."""


def redirected(request: OutgoingRequest, status: int, location: str) -> OutgoingRequest:
    """Return the request to make next.

    Raise RedirectError when the redirect is not followed. The message says what to change, and shows no more of the
    location than its host.
    """
    destination = _destination(request.destination, status, location)
    if status in _MOVED and has_body(request.method):
        raise RedirectError(
            f"answered {status}, a redirect to {_shown(destination)} that a {request.method} does not follow; "
            "change the url to where it leads, or have the target answer 307 or 308"
        )
    if request.destination.secure and not destination.secure:
        raise RedirectError(
            f"answered {status}, a redirect from https to plain http at {_shown(destination)}: not followed"
        )
    following = _without_body(request) if status == _SEE_OTHER else request
    if destination.origin != request.destination.origin:
        following = _without_secrets(following)
    return replace(following, destination=destination)


def too_many(request: OutgoingRequest) -> RedirectError:
    """Return the error for a request that would exceed the limit."""
    where = _shown(request.destination)
    return RedirectError(f"redirected more than {MAX_REDIRECTS} times, the last time to {where}; change the url")


def _destination(base: HttpDestination, status: int, location: str) -> HttpDestination:
    if not location:
        raise RedirectError(f"answered {status}, a redirect that does not say where to")
    try:
        # Before the URLs are joined: `urljoin` silently removes tabs.
        check_characters(location)
        return destination_of(urljoin(base.url, location))
    except BadTarget as error:
        why = f"its location {error}"
    except ValueError as error:
        why = printable(str(error), 100)
    raise RedirectError(f"answered {status}, a redirect that cannot be followed: {why}")


def _without_body(request: OutgoingRequest) -> OutgoingRequest:
    """Return a GET without the headers that describe or sign the body. A request without a body stays as it is."""
    if request.body is None:
        return request
    fields = {name: value for name, value in request.fields.items() if not name.lower().startswith(_ABOUT_THE_BODY)}
    return replace(request, method="GET", fields=fields, body=None)


def _without_secrets(request: OutgoingRequest) -> OutgoingRequest:
    """Return the request for another owner, without headers that the user meant for the first owner only.

    These headers stay away even when a later redirect leads to the first owner again.
    """
    shown = {
        name: value
        for name, value in request.fields.items()
        if is_about_the_run(name) or name.lower().startswith(_NO_SECRETS)
    }
    return replace(request, fields=shown)


def _shown(destination: HttpDestination) -> str:
    return printable(destination.host, 100)
