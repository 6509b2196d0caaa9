"""The documents of the API, as commands get them by the client. Each failure ends in a sentence and an exit code."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import click

from onthedot.cli.common.connection import OneConnection
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
from onthedot.client.requests import Operation
from onthedot.client.trying import TRIES

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
        self._client = Client(token=self.place.token, transport=OneConnection(self.place.url), tries=tries)
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
        checked = replace(operation, read=_checked(operation))
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
            case Forbidden():
                return Refusal(f"the token's role does not allow this call: {text}")
        return Refusal(_mistakes(error) or text)

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


def missing_job(job_id: str) -> MissingJob:
    """Return the sentence for a job that does not exist."""
    job, dot, _ = job_id.partition(".")
    is_run = dot and job.partition("_")[0] in ID_PREFIXES
    hint = f" (that is an execution; its job is {printable(job)})" if is_run else ""
    sentence = MissingJob(f"there is no job {printable(job_id)}{hint}")
    sentence.wanted = job_id
    return sentence


def _checked(operation: Operation[Any]) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        operation.read(document)
        return document

    return read


def _mistakes(error: ClientError) -> str:
    """Return a line for each wrong field. One mistake alone is a whole sentence in the API's message already."""
    lines = [printable(f"{one.field}: {one.message}") for one in error.details]
    return "\n  ".join([f"{len(lines)} fields are wrong:", *lines]) if len(lines) > 1 else ""
