"""The documents of the API, as commands get them. Each failure ends in a sentence and an exit code.

It also finds the API, by options, by the environment, or by the `local.json` of this folder, and jobs by their names.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from urllib.parse import quote

import click
from click.shell_completion import CompletionItem

from onthedot.cli.output import printable
from onthedot.client import place as places
from onthedot.client.calling import TRIES
from onthedot.client.client import Client
from onthedot.client.errors import (
    ClientError,
    Forbidden,
    NotFound,
    PlaceError,
    RateLimited,
    ServerError,
    Unauthorized,
    Unavailable,
)
from onthedot.client.options import JobFilter
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace
from onthedot.client.requests import APART, PAGE, Operation, Retries, as_it_is, is_id, jobs_named, list_jobs
from onthedot.client.transport import HttpTransport

PATIENT: Final = Retries(tries=8, failures=True)
"""For a call that may be repeated, in a command that takes long."""
NO_STACK: Final = "no local stack or server is running here; start one with `onthedot serve` or `onthedot up`, or "
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_MOST_SHOWN: Final = 10
_COMPLETED: Final = 50


class NotThere(click.ClickException):
    """The API has no such thing, or it belongs to another tenant."""

    exit_code = 4


class Refusal(click.ClickException):
    """The API refused the call: the request has mistakes, or the token or the state of the job does not allow it."""

    exit_code = 3


class NoAnswer(click.ClickException):
    """The API cannot be reached, or cannot answer now."""

    exit_code = 5


class Ambiguous(click.ClickException):
    """A name that several jobs have. Nothing was changed."""

    exit_code = 2


# The API


def find_api(url: str | None, token: str | None) -> ApiPlace:
    """Return the API that the options name, else the one that the environment names, else the one of `local.json`."""
    address = url or os.environ.get(URL)
    stack = {} if address else local_stack("name an API with --url")
    try:
        if address:
            return places.checked_place(address, token or os.environ.get(TOKEN))
        return places.checked_place(stack.get("api_url", ""), token or stack.get("token"), is_local=True)
    except PlaceError as error:
        raise click.UsageError(str(error)) from error


def local_stack(otherwise: str) -> dict[str, Any]:
    """Return the content of `local.json` in ONTHEDOT_HOME, or in `.onthedot` of this folder or one above it.

    Raise click.UsageError when there is none. Its message offers the way to do without.
    """
    file = places.find_local_file()
    if file is None:
        raise click.UsageError(NO_STACK + otherwise)
    try:
        return places.read_local_file(file)
    except PlaceError as error:
        raise click.ClickException(str(error)) from error


class Calls(ABC):
    """Calls of the API, over REST or by AWS credentials on a table."""

    @abstractmethod
    def ask(self, operation: Operation[Any], missing: str | None = None, *, job: str | None = None) -> Any:
        """Return the document that answers a call, as the API sent it. Raise click.ClickException.

        `missing` is the sentence for an answer that there is no such thing. Without it, `job` is the job that the
        sentence is about, as the user named it.
        """

    def steps(self, page: Callable[[str | None], Operation[Any]], **about: str | None) -> Iterator[Any]:
        """Yield the documents of a call page by page. `about` is for `ask`."""
        cursor: str | None = None
        while True:
            document = self.ask(page(cursor), **about)
            yield document
            cursor = document.get("next_cursor")
            if cursor is None:
                return

    def pages(
        self, page: Callable[[str | None], Operation[Any]], name: str, **about: str | None
    ) -> Iterator[dict[str, Any]]:
        for document in self.steps(page, **about):
            yield from document[name]

    # Calls that the client does not have

    def get(self, path: str, **query: str | None) -> Any:
        return self.ask(get_call(path, query))

    def entries(self, path: str, name: str, **query: str | None) -> Iterator[dict[str, Any]]:
        return self.pages(lambda cursor: get_call(path, {**query, "limit": str(PAGE), "cursor": cursor}, name), name)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.ask(Operation("POST", path, as_it_is, body=body, retries=PATIENT))

    def post_once(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.ask(Operation("POST", path, as_it_is, body=body, repeatable=False))

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.ask(Operation("PUT", path, as_it_is, body=body))

    def delete(self, path: str) -> Any:
        return self.ask(Operation("DELETE", path, as_it_is, repeatable=False))


def get_call(path: str, query: Mapping[str, str | None], name: str | None = None) -> Operation[Any]:
    given = {field: value for field, value in query.items() if value is not None}
    return Operation("GET", path, as_it_is if name is None else lambda found: [*found[name]], query=given)


class Documents(Calls):
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
        self._client.close()

    def ask(self, operation: Operation[Any], missing: str | None = None, *, job: str | None = None) -> Any:
        # The client reads the document too, so that an answer of another program ends in a sentence.
        checked = operation._replace(read=_checked(operation))
        try:
            return self._client.call(checked)
        except ClientError as error:
            if isinstance(error, NotFound) and error.code == "not_found":
                if job is not None and missing is None:
                    raise NotThere(self.no_job(job)) from error
                raise NotThere(f"{missing or self._missing} at {self.place.url}") from error
            raise self._failure(error) from error
        except ValueError as error:
            raise click.UsageError(printable(str(error))) from error

    def no_job(self, job: str) -> str:
        near = _did_you_mean(self, job)
        first, dot, _ = job.partition(".")
        hint = f" (that is an execution; its job is {printable(first)})" if dot and first.startswith("job_") else ""
        return f"there is no job {printable(job)}{hint} at {self.place.url}{near}"

    def _failure(self, error: ClientError) -> click.ClickException:
        text = printable(str(error))
        match error:
            case ServerError():
                return click.ClickException(text)
            case Unavailable() | RateLimited():
                # An API that has answered runs.
                is_down = error.status is None and self.place.is_local
                return NoAnswer(text + ("; `onthedot serve` or `onthedot up` starts one here" if is_down else ""))
            case Unauthorized():
                return Refusal("the token is not valid; give a valid one as ONTHEDOT_TOKEN")
            case Forbidden():
                # The API's own sentence ends with the roles that may. Other servers refuse too.
                if error.code == "forbidden":
                    return Refusal(f"{text} as ONTHEDOT_TOKEN")
                return Refusal(f"the token's role does not allow this call: {text}")
        return Refusal(_mistakes(error) or text)


def _checked(operation: Operation[Any]) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        operation.read(document)
        return document

    return read


def _mistakes(error: ClientError) -> str:
    """Return a line for each wrong field. One mistake alone is a whole sentence in the API's message already."""
    lines = [printable(f"{one.field}: {one.message}") for one in error.details]
    return "\n  ".join([f"{len(lines)} fields are wrong:", *lines]) if len(lines) > 1 else ""


def encoded(text: str) -> str:
    return quote(text, safe=":", errors="replace")


# Jobs by their ids or names


class Id(click.ParamType[str]):
    """An id. An empty one would call another path."""

    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id. Fail when it is empty, as an unset variable of a script gives it, or when it is not text."""
        text = str(value)
        if not text:
            self.fail("is empty; give an id", param, ctx)
        if text.encode(errors="replace").decode() != text:
            self.fail(f"{printable(text)} has bytes that an id cannot have", param, ctx)
        return text


class JobName(Id):
    """The id of a job, or its name. A shell completes the names."""

    name = "JOB"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - as click calls it
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete nothing when the API does not answer."""
        filters: JobFilter = {"name": incomplete} if incomplete else {}
        try:
            with closing(Documents(ctx.params.get("url"), ctx.params.get("token"), tries=1)) as api:
                found = api.ask(list_jobs(filters, limit=_COMPLETED))["jobs"]
        except click.ClickException:
            return []
        return [CompletionItem(name) for name in dict.fromkeys(one["name"] for one in found) if name]


def find_job(api: Documents, text: str) -> str:
    """Return the id of the only job with this name: among recurring and event jobs, else among the newest others.

    Text in the shape of an id is treated as one, without a call. Raise Ambiguous when several jobs have the name, and
    NotThere when none has.
    """
    if is_id(text):
        return text
    jobs = _jobs_named(api, text)
    if len(jobs) > 1:
        raise Ambiguous(_several(text, jobs))
    if not jobs:
        raise NotThere(api.no_job(text))
    return str(jobs[0]["job_id"])


def _jobs_named(api: Documents, name: str) -> Sequence[dict[str, Any]]:
    search, answer = jobs_named(name), None
    try:
        while True:
            answer = api.ask(search.send(answer))
    except StopIteration as found:
        jobs: Sequence[dict[str, Any]] = found.value
        return jobs


def _did_you_mean(api: Documents, text: str) -> str:
    """Return the question whether the user meant a job whose id goes on so after the underscore, or with a near name.

    It looks at the newest jobs of each kind. A call that fails asks nothing.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped name only

    try:
        jobs = [job for kind in (*APART, "one-off") for job in api.ask(list_jobs({"kind": kind}))["jobs"]]
    except click.ClickException:
        return ""
    known = {key: job for job in reversed(jobs) for key in (job["name"], job["job_id"]) if key}
    rest = text.partition("_")[2]
    begin = [one["job_id"] for one in jobs if rest and one["job_id"].partition("_")[2].startswith(rest)]
    near = begin if len(begin) == 1 else get_close_matches(text, known, n=1, cutoff=0.7)
    if not near:
        return ""
    job = known[near[0]]
    name = f" ({printable(job['name'])})" if job.get("name") else ""
    return f". Did you mean {job['job_id']}{name}?"


def _several(text: str, jobs: Sequence[dict[str, Any]]) -> str:
    lines = [f"{job['job_id']}  {job['kind']}, {job['status']}" for job in jobs[:_MOST_SHOWN]]
    more = [f"and {len(jobs) - _MOST_SHOWN:,} more"] if len(jobs) > _MOST_SHOWN else []
    return "\n  ".join([f"{len(jobs):,} jobs are called {printable(text)}; give the id of one:", *lines, *more])
