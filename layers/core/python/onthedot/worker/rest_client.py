"""Calls to the REST API as a worker makes them: bounded in time and in tries, the token in no message."""

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import urllib3

from onthedot import __version__
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.worker.work_source import NotAllowed

TRIES: Final = 3
CALL_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.3
_CONNECTIONS: Final = 16
_PASSING: Final = frozenset({408, 425, 429})
_REFUSED: Final = {
    401: "the token is not valid (any more); give a valid one as ONTHEDOT_TOKEN",
    403: "the token's role does not allow a worker; give a worker's, operator's or admin's as ONTHEDOT_TOKEN",
}


class ApiRefused(OnthedotError):
    """The API understood the call and refuses it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class RestClient:
    """The API at a URL. Safe to use from several threads."""

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
        """The JSON of the answer. `tries` is for what may happen twice without harm.

        Raises Unavailable for what passes, NotAllowed when the token is refused, Refusal for everything else.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        for number in range(1, tries + 1):
            try:
                return self._try(path, content, seconds)
            except Unavailable:
                if number == tries:
                    raise
                self._sleep(_PAUSE_SECONDS * number * self._chance.uniform(0.5, 1))
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
        return _judge(reply.status, reply.data)


def _judge(status: int, data: bytes) -> Any:
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
    """What the API says about it, in people's words."""
    try:
        error = json.loads(data)["error"]
        details = "; ".join(f"{detail['field']} {detail['message']}" for detail in error.get("details") or ())
        return f"{error['message']} ({details})" if details else str(error["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", errors="replace")
