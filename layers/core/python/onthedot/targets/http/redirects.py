"""Where a redirect leads: the next request, as carefully made as the first one, or why there is none."""

from dataclasses import replace
from typing import Final
from urllib.parse import urljoin

from onthedot.domain.errors import OnthedotError
from onthedot.targets.answers import printable
from onthedot.targets.http.place import HttpDestination, RequestError, place_of
from onthedot.targets.http.request import WITHOUT_BODY, OutgoingRequest, is_ours

MAX_REDIRECTS: Final = 5
_SEE_OTHER: Final = 303
_MOVED: Final = frozenset({301, 302})
"""What was meant to repeat the request, and what clients take for a GET: safe only where it is one."""
REDIRECTS: Final = _MOVED | {_SEE_OTHER, 307, 308}

_ABOUT_THE_BODY: Final = ("content-", "webhook-")
_NO_SECRETS: Final = ("accept", "content-", "user-agent")
"""How users' headers begin that another owner may see. Any other may hold a secret, whatever it is called."""


class RedirectError(OnthedotError):
    """The target leads somewhere else in a way that is not followed. Trying again does not help."""


def redirected(request: OutgoingRequest, status: int, location: str) -> OutgoingRequest:
    """The request to make next.

    :raises RedirectError: with a message that says what to change and shows no more of the location than its host
    """
    place = _destination(request.place, status, location)
    if status in _MOVED and request.method not in WITHOUT_BODY:
        raise RedirectError(
            f"answered {status}, a redirect to {_shown(place)} that a {request.method} does not follow; "
            "change the url to where it leads, or have the target answer 307 or 308"
        )
    if request.place.secure and not place.secure:
        raise RedirectError(f"answered {status}, a redirect from https to plain http at {_shown(place)}: not followed")
    following = _without_body(request) if status == _SEE_OTHER else request
    if place.origin != request.place.origin:
        following = _without_secrets(following)
    return replace(following, place=place)


def too_many(request: OutgoingRequest) -> RedirectError:
    """For the request that would be one too many."""
    where = _shown(request.place)
    return RedirectError(f"redirected more than {MAX_REDIRECTS} times, the last time to {where}; change the url")


def _destination(base: HttpDestination, status: int, location: str) -> HttpDestination:
    if not location:
        raise RedirectError(f"answered {status}, a redirect that does not say where to")
    try:
        return place_of(urljoin(base.url, location))
    except (RequestError, ValueError) as error:
        raise RedirectError(f"answered {status}, a redirect that cannot be followed: {error}") from error


def _without_body(request: OutgoingRequest) -> OutgoingRequest:
    """A GET without what described and signed the body; what has no body is asked again as it was."""
    if request.body is None:
        return request
    fields = {name: value for name, value in request.fields.items() if not name.lower().startswith(_ABOUT_THE_BODY)}
    return replace(request, method="GET", fields=fields, body=None)


def _without_secrets(request: OutgoingRequest) -> OutgoingRequest:
    """For somebody else: what the user entrusted to the first owner stays there, also when the way leads back."""
    shown = {
        name: value for name, value in request.fields.items() if is_ours(name) or name.lower().startswith(_NO_SECRETS)
    }
    return replace(request, fields=shown)


def _shown(place: HttpDestination) -> str:
    return printable(place.host, 100)
