"""Call the REST API: bounded in time and in tries, and with the token in no message."""

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

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
_TEMPORARY: Final = frozenset({408, 425, 429})
"""Statuses of temporary refusals. All statuses from 500 on are temporary too."""
_ROLES: Final = {"GET": "a viewer's, operator's or admin's", "POST": "a worker's, operator's or admin's"}
"""The roles that may make the calls of a method. Of other methods: operator and admin."""
_ONLY_ADMINS: Final = "use an admin's"
"""The end of the API's message when a call is only for admins."""


class ApiRefused(OnthedotError):
    """A refusal of a call that the API has understood."""

    def __init__(self, status: int, message: str, code: str | None = None, summary: str | None = None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.code = code
        self.summary = summary or message
        """The first mistake, as a sentence."""


class NotNow(Unavailable):
    """An answer of an API that cannot do now what it was asked for."""


class Reply(NamedTuple):
    """A reply of the API that is no refusal."""

    data: bytes
    """The JSON as it arrived."""
    document: Any


class RestClient:
    """A client of the API at a URL. Safe to use from several threads."""

    def __init__(
        self, url: str, token: str, sleep: Callable[[float], None] = time.sleep, program: str = "onthedot-worker"
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": f"{program}/{__version__}",
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
        return self._call("POST", path, content, seconds, tries).document

    def get(self, path: str, *, seconds: float = CALL_SECONDS) -> Reply:
        """Send a GET and return the reply. Raise the same errors as `post`."""
        return self._call("GET", path, None, seconds, TRIES)

    def put(self, path: str, body: Mapping[str, Any], *, seconds: float = CALL_SECONDS) -> Reply:
        """Send a PUT and return the reply. Raise the same errors as `post`."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        return self._call("PUT", path, content, seconds, TRIES)

    def delete(self, path: str, *, seconds: float = CALL_SECONDS) -> Reply:
        """Send a DELETE once and return the reply. Raise the same errors as `post`."""
        return self._call("DELETE", path, None, seconds, 1)

    def _call(self, method: str, path: str, content: bytes | None, seconds: float, tries: int) -> Reply:
        backoff = Backoff(*_PAUSES, self._chance)
        for number in range(1, tries + 1):
            try:
                return self._try(method, path, content, seconds)
            except Unavailable:
                if number == tries:
                    raise
                self._sleep(backoff.next())
        raise AssertionError("there is at least one try")

    def _try(self, method: str, path: str, content: bytes | None, seconds: float) -> Reply:
        timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        try:
            reply = self._pool.request(
                method,
                self._url + path,
                body=content,
                headers=self._headers,
                timeout=timeout,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            why = getattr(error.__cause__, "strerror", None) or type(error).__name__
            raise Unavailable(f"{self._url} cannot be reached: {why}") from error
        return _checked(method, reply.status, reply.data)


def _checked(method: str, status: int, data: bytes) -> Reply:
    """Return a reply that is JSON. Raise the error that another reply stands for."""
    if status >= 500 or status in _TEMPORARY:
        raise NotNow(f"the API answered {status}: {_error_of(data)[1]}")
    if status == 401:
        raise NotAllowed("the token is not valid (any more); give a valid one as ONTHEDOT_TOKEN")
    if status == 403:
        needed = _ROLES.get(method, "an operator's or admin's")
        if _error_of(data)[1].endswith(_ONLY_ADMINS):
            needed = "an admin's"
        raise NotAllowed(f"the token's role does not allow this call; give {needed} as ONTHEDOT_TOKEN")
    if status >= 300:
        code, message, details = _error_of(data)
        raise ApiRefused(status, f"{message} ({details})" if details else message, code, message)
    try:
        return Reply(data, json.loads(data))
    except ValueError as error:
        raise Unavailable("the API's answer is no JSON; is the URL right?") from error


def _error_of(data: bytes) -> tuple[str | None, str, str]:
    """Return the code, the message and the details of an error.

    Of any other reply return None, the beginning of its text and no details.
    """
    try:
        error = json.loads(data)["error"]
        details = "; ".join(f"{detail['field']} {detail['message']}" for detail in error.get("details") or ())
        return error["code"], str(error["message"]), details
    except (ValueError, KeyError, TypeError):
        return None, data[:200].decode("utf-8", errors="replace"), ""
