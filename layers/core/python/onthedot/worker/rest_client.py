"""The calls of a worker that has only a URL and a token: those of the client, with the errors of a work source."""

import json
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from onthedot import __version__
from onthedot.client.client import Client
from onthedot.client.errors import ClientError, Forbidden, RateLimited, ServerError, Unauthorized
from onthedot.client.errors import Unavailable as NoAnswerNow
from onthedot.client.requests import Operation, Retries, as_it_is
from onthedot.client.transport import HttpTransport
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.worker.work_source import NotAllowed

TRIES: Final = 3
CALL_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 3.0
_RETRIES: Final = Retries(TRIES, first=0.3, most=0.6, longest=1.0, failures=True)
"""A worker that waits for long may lose its leases. Its loop comes again, with longer pauses."""
_HEADERS: Final = {"User-Agent": f"onthedot-worker/{__version__}"}


class RestClient:
    """A client of the API at a URL. Safe to use from several threads."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        def client(seconds: float) -> Client:
            return Client(token=token, transport=HttpTransport(url, seconds, connect=_CONNECT_SECONDS), sleep=sleep)

        self._client = cache(client)

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float = CALL_SECONDS, tries: int = TRIES) -> Any:
        """Send a POST and return the JSON of the reply. Pass `tries=1` for a call that must not happen twice.

        Raise Unavailable for a failure that passes, NotAllowed when the API refuses the token, and ClientError for
        every other refusal.
        """
        # A result may have halves of surrogate pairs, which no UTF-8 has.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        retries = _RETRIES._replace(tries=tries)
        operation = Operation("POST", path, as_it_is, body=content, headers=_HEADERS, retries=retries)
        try:
            return self._client(seconds).call(operation)
        except ClientError as error:
            if (known := _for_a_worker(error)) is None:
                raise
            raise known from error


def _for_a_worker(error: ClientError) -> OnthedotError | None:
    """Return the work source's error for this one, if it has one."""
    match error:
        case Unauthorized():
            return NotAllowed("the token is not valid (any more); give a valid one as ONTHEDOT_TOKEN")
        case Forbidden():
            needed = "a worker's, operator's or admin's"
            return NotAllowed(f"the token's role does not allow this call; give {needed} as ONTHEDOT_TOKEN")
        case NoAnswerNow() | RateLimited() | ServerError():
            return Unavailable(str(error) if error.status is None else f"the API answered {error.status}: {error}")
    return None
