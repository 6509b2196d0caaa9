"""Call the REST API: bounded in time and in tries, and with the token in no message."""

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import urllib3

from onthedot import __version__
from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.worker.work_source import NotAllowed

TRIES: Final = 3
CALL_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 3.0
_PAUSES: Final = (0.3, 0.6)
"""Seconds between tries: at first, and at most."""
_CONNECTIONS: Final = 16
_PASSING: Final = frozenset({408, 425, 429})
"""Statuses of refusals that may pass by themselves. All statuses from 500 on may pass too."""
_REFUSED: Final = {
    401: "the token is not valid (any more); give a valid one as ONTHEDOT_TOKEN",
    403: "the token's role does not allow a worker; give a worker's, operator's or admin's as ONTHEDOT_TOKEN",
}


class ApiRefused(OnthedotError):
    """A refusal of a call that the API has understood."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class RestClient:
    """A client of the API at a URL. Safe to use from several threads."""

    def __init__(self, url: str, token: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._url = url.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": f"onthedot-worker/{__version__}",
        }
        self._sleep = sleep
        self._pool = urllib3.PoolManager(maxsize=_CONNECTIONS)
        self._chance = random.Random()  # noqa: S311 (jitter, not a secret)

    def post(self, path: str, body: Mapping[str, Any], *, seconds: float = CALL_SECONDS, tries: int = TRIES) -> Any:
        """Send a POST and return the JSON of the reply. Pass `tries=1` for a call that must not happen twice.

        Raise Unavailable for a failure that passes, NotAllowed when the API refuses the token, and ApiRefused for
        every other refusal.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        backoff = Backoff(*_PAUSES, self._chance)
        for number in range(1, tries + 1):
            try:
                return self._try(path, content, seconds)
            except Unavailable:
                if number == tries:
                    raise
                self._sleep(backoff.next())
        raise AssertionError("there is at least one try")

    def _try(self, path: str, content: bytes, seconds: float) -> Any:
        timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        try:
            reply = self._pool.request(
                "POST",
                self._url + path,
                body=content,
                headers=self._headers,
                timeout=timeout,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"{self._url} cannot be reached: {type(error).__name__}") from error
        return _json_of(reply.status, reply.data)


def _json_of(status: int, data: bytes) -> Any:
    if status >= 500 or status in _PASSING:
        raise Unavailable(f"the API answered {status}: {_message(data)}")
    if status in _REFUSED:
        raise NotAllowed(_REFUSED[status])
    if status >= 300:
        raise ApiRefused(status, _message(data))
    try:
        return json.loads(data)
    except ValueError as error:
        raise Unavailable("the API's answer is no JSON; is the URL right?") from error


def _message(data: bytes) -> str:
    """Return the error message of a reply, or the beginning of its text."""
    try:
        error = json.loads(data)["error"]
        details = "; ".join(f"{detail['field']} {detail['message']}" for detail in error.get("details") or ())
        return f"{error['message']} ({details})" if details else str(error["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", errors="replace")
