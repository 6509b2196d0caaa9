"""Calls of the API that commands make. Each failure ends in a sentence."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

import click

from onthedot.cli.common.failures import NoAnswer, NotThere, Refusal
from onthedot.cli.text import printable
from onthedot.cli.where import START
from onthedot.client.place import Place as ApiPlace
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.worker.rest_client import CALL_SECONDS, ApiRefused, NotNow, Reply, RestClient

SLOW_SECONDS: Final = 28.0
"""For a call that answers when its effect is in force everywhere."""
PAGE: Final = 100
PATIENT_TRIES: Final = 8
"""For a call that may be repeated, in a command that takes long."""
Answer = TypeVar("Answer")


class ApiCalls:
    """The calls of a command, on the API at one place."""

    def __init__(self, api: ApiPlace, missing: str = "there is no such thing") -> None:
        self._api = api
        self._client = RestClient(api.url, api.token, program="onthedot-cli")
        self._missing = missing

    def get(self, path: str, *, seconds: float = CALL_SECONDS) -> Reply:
        """Return the reply to a GET. Raise click.ClickException."""
        return self._in_a_sentence(lambda: self._client.get(path, seconds=seconds))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the document that answers a POST which may be repeated. Raise click.ClickException."""
        return self._in_a_sentence(lambda: self._client.post(path, body, seconds=SLOW_SECONDS, tries=PATIENT_TRIES))

    def post_once(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the document that answers a POST which must not happen twice. Raise click.ClickException."""
        return self._in_a_sentence(lambda: self._client.post(path, body, seconds=SLOW_SECONDS, tries=1))

    def put(self, path: str, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a PUT. Raise click.ClickException."""
        return self._in_a_sentence(lambda: self._client.put(path, body, seconds=SLOW_SECONDS))

    def delete(self, path: str) -> Reply:
        """Return the reply to a DELETE. Raise click.ClickException."""
        return self._in_a_sentence(lambda: self._client.delete(path, seconds=SLOW_SECONDS))

    def entries(self, path: str, name: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list, page by page. Raise click.ClickException."""
        chosen = "".join(f"&{field}={quote(value, safe='', errors='replace')}" for field, value in query.items())
        cursor: str | None = None
        while True:
            following = "" if cursor is None else f"&cursor={quote(cursor, safe='')}"
            document = self.get(f"{path}?limit={PAGE}{chosen}{following}").document
            if not isinstance(document, dict) or not isinstance(document.get(name), list):
                raise click.ClickException(f"{self._api.url} did not answer with {name}; is the URL right?")
            yield from document[name]
            cursor = document.get("next_cursor")
            if cursor is None:
                return

    def _in_a_sentence(self, call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        except ApiRefused as error:
            if error.status == 404 and error.code == "not_found":
                raise NotThere(f"{self._missing} at {self._api.url}") from error
            raise Refusal(printable(error.summary)) from error
        except Unavailable as error:
            hint = f"; {START}" if self._api.is_local and not isinstance(error, NotNow) else ""
            raise NoAnswer(printable(str(error)) + hint) from error
        except OnthedotError as error:
            raise Refusal(str(error)) from error


def encoded(text: str) -> str:
    """Return a text of the user as the last part of a path."""
    return quote(text, safe=":", errors="replace")
