"""The documents of the API, as commands get them by the client. Each failure ends in a sentence and an exit code."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from onthedot.cli.common.failures import NoAnswer, NotThere, Refusal
from onthedot.cli.text import printable
from onthedot.cli.where import find_api
from onthedot.client.client import Client
from onthedot.client.errors import (
    ClientError,
    Forbidden,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    Unavailable,
)
from onthedot.client.requests import PAGE, Operation, Retries, as_it_is
from onthedot.client.transport import HttpTransport

TRIES: Final = Retries().tries
PATIENT: Final = Retries(tries=8, failures=True)
"""For a call that may be repeated, in a command that takes long."""
ID_PREFIXES: Final = ("job",)
"""The words before the underscore of ids."""


class Id(click.ParamType[str]):
    """An id. An empty one would call another path."""

    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id. Fail when it is empty, as an unset variable of a script gives it, or when it is no text."""
        text = str(value)
        if not text:
            self.fail("is empty; give an id", param, ctx)
        if text.encode(errors="replace").decode() != text:
            self.fail(f"{printable(text)} has bytes that no id has", param, ctx)
        return text


class Documents:
    """The API at one place. `missing` is the sentence for an answer that there is no such thing."""

    def __init__(
        self, url: str | None, token: str | None, missing: str = "there is no such thing", *, tries: int = TRIES
    ) -> None:
        self.place = find_api(url, token)
        self._missing = missing
        self._client = Client(token=self.place.token, transport=HttpTransport(self.place.url), tries=tries)
        if (command := click.get_current_context(silent=True)) is not None:
            command.call_on_close(self.close)

    def close(self) -> None:
        """Close the connection. The end of a command does it too."""
        self._client.close()

    def ask(self, operation: Operation[Any], missing: str | None = None) -> Any:
        """Return the document that answers a call, as the API sent it. Raise click.ClickException.

        `missing` is the sentence for an answer that there is no such thing.
        """
        # The client reads the document too, so that an answer of another program ends in a sentence.
        checked = operation._replace(read=_checked(operation))
        try:
            return self._client.call(checked)
        except ClientError as error:
            raise self._failure(error, missing or self._missing) from error
        except ValueError as error:
            raise click.UsageError(printable(str(error))) from error

    def pages(
        self, page: Callable[[str | None], Operation[Any]], name: str, missing: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list. Further pages are read when they are needed. Raise click.ClickException."""
        cursor: str | None = None
        while True:
            document = self.ask(page(cursor), missing)
            yield from document[name]
            cursor = document.get("next_cursor")
            if cursor is None:
                return

    # Calls that the client does not have

    def get(self, path: str, **query: str | None) -> Any:
        """Return the document that answers a GET. Raise click.ClickException."""
        return self.ask(_get(path, query))

    def entries(self, path: str, name: str, **query: str | None) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list, page by page. Raise click.ClickException."""
        return self.pages(lambda cursor: _get(path, {**query, "limit": str(PAGE), "cursor": cursor}, name), name)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the document that answers a POST which may be repeated. Raise click.ClickException."""
        return self.ask(Operation("POST", path, as_it_is, body=body, retries=PATIENT))

    def post_once(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the document that answers a POST which must not happen twice. Raise click.ClickException."""
        return self.ask(Operation("POST", path, as_it_is, body=body, repeatable=False))

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the document that answers a PUT. Raise click.ClickException."""
        return self.ask(Operation("PUT", path, as_it_is, body=body))

    def delete(self, path: str) -> Any:
        """Return the document that answers a DELETE, which is not repeated. Raise click.ClickException."""
        return self.ask(Operation("DELETE", path, as_it_is, repeatable=False))

    def _failure(self, error: ClientError, missing: str) -> click.ClickException:
        text = printable(str(error))
        match error:
            case NotFound() if error.code == "not_found":
                return NotThere(f"{missing} at {self.place.url}{self._suggestion(missing)}")
            case ServerError():
                return click.ClickException(text)
            case Unavailable() | RateLimited():
                return NoAnswer(text + (self._start() if error.status is None else ""))
            case Unauthorized():
                return Refusal("the token is not valid (any more); give a valid one as ONTHEDOT_TOKEN")
        return Refusal(_mistakes(error) or _refused_role(error, text) or text)

    def _start(self) -> str:
        """Return how to start an API that cannot be reached. One that has answered runs."""
        return "; `onthedot serve` or `onthedot up` starts one here" if self.place.is_local else ""

    def _suggestion(self, missing: str) -> str:
        if not isinstance(missing, MissingJob):
            return ""
        from onthedot.cli.common.names import did_you_mean  # noqa: PLC0415 - for a job that does not exist only

        return did_you_mean(self, missing.wanted)


class MissingJob(str):
    """The sentence for a job that does not exist."""

    __slots__ = ("wanted",)
    wanted: str
    """The id as the user gave it."""


def encoded(text: str) -> str:
    """Return a text of the user as the last part of a path."""
    return quote(text, safe=":", errors="replace")


def missing_job(job_id: str) -> MissingJob:
    """Return the sentence for a job that does not exist."""
    job, dot, _ = job_id.partition(".")
    is_run = dot and job.partition("_")[0] in ID_PREFIXES
    hint = f" (that is an execution; its job is {printable(job)})" if is_run else ""
    sentence = MissingJob(f"there is no job {printable(job_id)}{hint}")
    sentence.wanted = job_id
    return sentence


def _get(path: str, query: Mapping[str, str | None], name: str | None = None) -> Operation[Any]:
    """Return the call of a GET, whose document must have this list."""
    given = {field: value for field, value in query.items() if value is not None}
    return Operation("GET", path, as_it_is if name is None else lambda found: [*found[name]], query=given)


def _checked(operation: Operation[Any]) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        operation.read(document)
        return document

    return read


def _refused_role(error: ClientError, text: str) -> str:
    if not isinstance(error, Forbidden):
        return ""
    # The API's own sentence ends with the roles that may. Other servers refuse too.
    is_by_role = error.code == "forbidden"
    return f"{text} as ONTHEDOT_TOKEN" if is_by_role else f"the token's role does not allow this call: {text}"


def _mistakes(error: ClientError) -> str:
    """Return a line for each wrong field. One mistake alone is a whole sentence in the API's message already."""
    lines = [printable(f"{one.field}: {one.message}") for one in error.details]
    return "\n  ".join([f"{len(lines)} fields are wrong:", *lines]) if len(lines) > 1 else ""
